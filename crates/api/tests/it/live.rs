//! The live view over HTTP, read by the client.

use std::time::Duration;

use assisted_client::{Change, Changes, Client};
use assisted_config::Settings;
use assisted_core::model::host::HostKey;
use assisted_store::{Batch, Deleted, Store};
use assisted_wire::host::HostStatus;
use assisted_wire::id::ClusterId;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::life::{HOST, PULL_SECRET, register};
use crate::server::Server;

/// A change is told within milliseconds; this is for machines that do other things too.
const LIMIT: Duration = Duration::from_secs(30);

fn client(server: &Server) -> Client {
    Client::builder(&server.url).proxy_from_env(false).build().unwrap()
}

async fn next(changes: &mut Changes) -> Change {
    let next = tokio::time::timeout(LIMIT, changes.next()).await.expect("nothing is told");
    next.unwrap().expect("the stream has ended")
}

/// Waits for a change that is as it should be; others may come before.
async fn until(changes: &mut Changes, wanted: impl Fn(&Change) -> bool) {
    while !wanted(&next(changes).await) {}
}

/// A cluster with one host: its id, and the paths of cluster and host.
async fn with_host(server: &Server) -> (ClusterId, String, String) {
    let (cluster, infra_env) = register(server).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", infra_env["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let id = cluster["id"].as_str().unwrap();
    (id.parse().unwrap(), format!("/v2/clusters/{id}"), format!("{hosts}/{HOST}"))
}

async fn rename(server: &Server, path: &str, name: &str) {
    let (status, body) = server.call(Method::PATCH, path, Some(json!({"name": name}))).await;
    assert_eq!(status, 201, "{body}");
}

fn is_cluster(change: &Change, name: &str) -> bool {
    matches!(change, Change::Cluster(cluster) if cluster.name == name && cluster.deleted_at.is_none())
}

#[tokio::test]
async fn a_cluster_is_told_as_it_is_and_as_it_changes() {
    let server = Server::start(Settings::default()).await;
    let (id, path, host) = with_host(&server).await;
    let mut changes = client(&server).watch(Some(id), None).await.unwrap();
    assert_eq!(next(&mut changes).await, Change::Reset {});
    assert!(is_cluster(&next(&mut changes).await, "life"));
    let Change::Event(first) = next(&mut changes).await else { panic!("no event") };
    assert_eq!((first.name.as_str(), first.request_id), ("cluster_registration_succeeded", None));
    until(&mut changes, |change| match change {
        Change::Host(host) => host.id.to_string() == HOST && host.progress_stages.is_some(),
        _ => false,
    })
    .await;

    rename(&server, &path, "other").await;
    until(&mut changes, |change| is_cluster(change, "other")).await;
    server.call(Method::DELETE, &format!("{host}/actions/enable"), None).await;
    until(&mut changes, |change| matches!(change, Change::Host(host) if host.status == HostStatus::Disabled))
        .await;
    let sent = json!({
        "name": "mine", "severity": "info", "message": "nothing else", "event_time": "2000-01-01T00:00:00Z", "cluster_id": id
    });
    assert_eq!(server.call(Method::POST, "/v2/events", Some(sent)).await, (201, Value::Null));
    until(&mut changes, |change| matches!(change, Change::Event(event) if event.name == "mine")).await;
    assert_eq!(server.call(Method::DELETE, &host, None).await.0, 204);
    until(&mut changes, |change| matches!(change, Change::Host(host) if host.deleted_at.is_some())).await;
    assert_eq!(server.call(Method::DELETE, &path, None).await.0, 204);
    until(&mut changes, |change| matches!(change, Change::Cluster(cluster) if cluster.deleted_at.is_some()))
        .await;
    server.stop().await;
}

/// One text is made for all who watch, also for those who may not see passwords.
#[tokio::test]
async fn nobody_who_watches_is_told_the_password_of_a_board() {
    let server = Server::start(Settings::default()).await;
    let (id, _, path) = with_host(&server).await;
    let infra_env = path.split('/').nth(3).unwrap();
    let key = HostKey { infra_env_id: infra_env.parse().unwrap(), host_id: HOST.parse().unwrap() };
    let store = Store::open(&server.database).await.unwrap();
    loop {
        let mut row = store.host(key, Deleted::Hidden).await.unwrap().unwrap();
        row.record.host.fencing_credentials = r#"{"password":"of-the-board"}"#.to_owned();
        let mut batch = Batch::new();
        batch.update_host(&row.record, row.version);
        // Until nobody else changes it meanwhile.
        if store.write(batch).await.is_ok() {
            break;
        }
    }
    let mut changes = client(&server).watch(Some(id), None).await.unwrap();
    let is_told = |change: &Change, status: Option<HostStatus>| match change {
        Change::Host(host) => {
            assert_eq!(host.fencing_credentials, "");
            status.is_none_or(|status| host.status == status)
        }
        _ => false,
    };
    // As it is, and as it changes.
    until(&mut changes, |change| is_told(change, None)).await;
    server.call(Method::DELETE, &format!("{path}/actions/enable"), None).await;
    until(&mut changes, |change| is_told(change, Some(HostStatus::Disabled))).await;
    let (_, shown) = server.call(Method::GET, &path, None).await;
    assert!(shown["fencing_credentials"].to_string().contains("of-the-board"), "{shown}");
    server.stop().await;
}

#[tokio::test]
async fn who_was_cut_off_goes_on_where_it_was() {
    let server = Server::start(Settings::default()).await;
    let (id, path, _) = with_host(&server).await;
    let client = client(&server);
    let mut changes = client.watch(Some(id), None).await.unwrap();
    until(&mut changes, |change| matches!(change, Change::Host(_))).await;
    let place = changes.cursor().expect("the last host tells where to go on").to_owned();
    drop(changes);
    rename(&server, &path, "second").await;
    rename(&server, &path, "third").await;

    let mut changes = client.watch(Some(id), Some(&place)).await.unwrap();
    until(&mut changes, |change| {
        assert_ne!(*change, Change::Reset {}, "nothing was lost");
        is_cluster(change, "third")
    })
    .await;

    // A place of another process: the present state, and the events since then.
    let (_, rest) = place.split_once('-').unwrap();
    for (place, is_known) in [(format!("1-{rest}"), true), ("nonsense".to_owned(), false)] {
        let mut changes = client.watch(Some(id), Some(&place)).await.unwrap();
        assert_eq!(next(&mut changes).await, Change::Reset {}, "{place}");
        assert!(is_cluster(&next(&mut changes).await, "third"), "{place}");
        let registered = match next(&mut changes).await {
            Change::Event(event) => event.name == "cluster_registration_succeeded",
            _ => false,
        };
        assert_eq!(registered, !is_known, "{place}");
    }
    server.stop().await;
}

#[tokio::test]
async fn who_watches_everything_is_told_of_what_changes() {
    let server = Server::start(Settings::default()).await;
    let client = client(&server);
    let mut changes = client.watch(None, None).await.unwrap();
    assert_eq!(next(&mut changes).await, Change::Reset {});
    let (id, _, _) = with_host(&server).await;
    until(&mut changes, |change| is_cluster(change, "life")).await;
    until(&mut changes, |change| matches!(change, Change::Host(host) if host.cluster_id == Some(id))).await;
    server.stop().await;
}

#[tokio::test]
async fn a_host_that_leaves_its_cluster_is_told_to_those_who_watch_it() {
    let server = Server::start(Settings::default()).await;
    let (cluster, _) = register(&server).await;
    let pool = json!({"name": "pool", "pull_secret": PULL_SECRET, "openshift_version": "4.20"});
    let (_, pool) = server.call(Method::POST, "/v2/infra-envs", Some(pool)).await;
    let hosts = format!("/v2/infra-envs/{}/hosts", pool["id"].as_str().unwrap());
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let inventory = json!({
        "hostname": "spare", "cpu": {"count": 8, "architecture": "x86_64"},
        "memory": {"physical_bytes": 1_u64 << 36, "usable_bytes": 1_u64 << 36},
        "disks": [{"id": "/dev/sda", "path": "/dev/sda", "name": "sda", "drive_type": "SSD", "size_bytes": 1_u64 << 40,
            "installation_eligibility": {"eligible": true}}],
        "interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01", "ipv4_addresses": ["192.0.2.5/24"]}],
    });
    let reply = json!({
        "step_type": "inventory", "step_id": "inventory-1", "exit_code": 0, "output": inventory.to_string(), "error": ""
    });
    let host = format!("{hosts}/{HOST}");
    assert_eq!(server.call(Method::POST, &format!("{host}/instructions"), Some(reply)).await.0, 204);
    let mut everything = client(&server).watch(None, None).await.unwrap();
    while server.call(Method::GET, &host, None).await.1["status"] != "known-unbound" {
        next(&mut everything).await;
    }
    let bind = Some(json!({"cluster_id": cluster["id"]}));
    let (status, body) = server.call(Method::POST, &format!("{host}/actions/bind"), bind).await;
    assert_eq!(status, 200, "{body}");
    // It boots again, and belongs to the cluster.
    assert_eq!(server.call(Method::POST, &hosts, Some(json!({"host_id": HOST}))).await.0, 201);
    let id = cluster["id"].as_str().unwrap().parse().unwrap();
    let mut changes = client(&server).watch(Some(id), None).await.unwrap();
    until(&mut changes, |change| matches!(change, Change::Host(_))).await;
    let (status, body) = server.call(Method::POST, &format!("{host}/actions/unbind"), None).await;
    assert_eq!(status, 200, "{body}");
    until(&mut changes, |change| matches!(change, Change::Host(host) if host.cluster_id.is_none())).await;
    server.stop().await;
}

#[tokio::test]
async fn who_reads_nothing_holds_nobody_up() {
    let server = Server::start(Settings::default()).await;
    let (id, path, _) = with_host(&server).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("GET /api/assisted-install/v2/watch?cluster_id={id} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let mut changes = client(&server).watch(Some(id), None).await.unwrap();
    until(&mut changes, |change| matches!(change, Change::Host(_))).await;
    for number in 0..30 {
        let name = format!("life-{number}");
        rename(&server, &path, &name).await;
        until(&mut changes, |change| is_cluster(change, &name)).await;
    }
    // Readers that are not at the end do not hold the service up either.
    tokio::time::timeout(LIMIT, server.stop()).await.expect("the streams hold the service up");
    drop(silent);
}

#[tokio::test]
async fn nobody_watches_what_is_not_there_and_streams_end_with_the_service() {
    let server = Server::start(Settings::default()).await;
    let client = client(&server);
    let refused = client.watch(Some(ClusterId::random()), None).await.unwrap_err();
    assert_eq!(refused.status(), Some(404));
    let (id, _, _) = with_host(&server).await;
    let mut changes = client.watch(Some(id), None).await.unwrap();
    until(&mut changes, |change| matches!(change, Change::Host(_))).await;
    let mut everything = client.watch(None, None).await.unwrap();
    until(&mut everything, |change| *change == Change::Reset {}).await;
    tokio::time::timeout(LIMIT, server.stop()).await.expect("the streams hold the service up");
    for changes in [&mut changes, &mut everything] {
        while tokio::time::timeout(LIMIT, changes.next()).await.unwrap().unwrap().is_some() {}
    }
}
