//! Nodes under other forms of their hosts' names, strangers that somebody is told of, and the setting that lets all in.

use std::net::IpAddr;

use assisted_client::EventFilter;
use assisted_controller::Exit;
use assisted_service::Clock;
use assisted_simhost::plan::PULL_SECRET;
use assisted_wire::event::EventSeverity;
use assisted_wire::id::HostId;
use serde_json::{Value, json};
use tokio::task::{LocalSet, spawn_local};

use crate::installation::{config, params};
use crate::kubelet::Wish;
use crate::service::{Files, Server};
use crate::world::{World, until};

const NAME: &str = "node_certificate_not_approved";

#[tokio::test]
async fn who_is_let_in_and_who_is_told_of() {
    LocalSet::new().run_until(Box::pin(let_in())).await;
}

async fn let_in() {
    let world = World::start().await;
    world.let_nodes_in().await;
    let mut server = Server::start(Files::default(), Clock::default()).await;
    let service = server.client();
    let cluster = json!({"name": "lab", "openshift_version": "4.20", "pull_secret": PULL_SECRET});
    let id = service.register_cluster(&params(cluster)).await.unwrap().id;
    let infra_env = json!({
        "name": "lab", "openshift_version": "4.20", "pull_secret": PULL_SECRET, "cluster_id": id,
    });
    let infra_env = service.register_infra_env(&params(infra_env)).await.unwrap().id;
    for name in ["master-0", "master-1.lab.example.com", "master-2"] {
        let host = json!({"host_id": HostId::random(), "discovery_agent_version": "1"});
        let host = service.register_host(infra_env, &params(host)).await.unwrap().host.id;
        let named = json!({"host_name": name});
        service.update_host(infra_env, host, &params(named)).await.unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let settings = config(&world, &dir, id, &format!("http://{}", server.address)).await;
    let run = |approve_all_csrs: bool| {
        let mut settings = settings.clone();
        settings.approve_all_csrs = approve_all_csrs;
        spawn_local(async move { assisted_controller::run(&settings).await.unwrap() })
    };
    let strict = run(false);

    // The inventory has the short form of the one, and the full form of the other.
    let addresses: [IpAddr; 2] = ["192.0.2.10".parse().unwrap(), "192.0.2.11".parse().unwrap()];
    world.join("master-0.lab.example.com", addresses[0]).await;
    world.join("master-1", addresses[1]).await;

    let bootstrapper = world.bootstrapper().await;
    let hostile = "$(reboot) \u{202e}x";
    for name in ["csr-stranger", hostile] {
        Wish::client(name, "system:node:stranger").ask(&bootstrapper).await;
    }
    // It is for no kubelet, and so nobody's business here.
    Wish { signer: "kubernetes.io/kube-apiserver-client", ..Wish::client("csr-other", "system:node:other") }
        .ask(&bootstrapper)
        .await;
    let events = async || {
        let filter = EventFilter { cluster_id: Some(id), ..EventFilter::default() };
        let mut events = service.list_events(&filter).await.unwrap().events;
        events.retain(|event| event.name == NAME);
        events
    };
    let told = until("events of both strangers", async || {
        let events = events().await;
        (events.len() >= 2).then_some(events)
    });
    for event in told.await {
        assert_eq!(event.severity, EventSeverity::Warning);
        let props: Value = serde_json::from_str(&event.props).unwrap();
        let command = "oc adm certificate approve csr-stranger";
        if event.message.contains("csr-stranger") {
            assert!(event.message.contains("no host of the inventory is called \"stranger\""), "{event:?}");
            assert!(event.message.ends_with(command) && props["command"] == command, "{event:?}");
        } else {
            assert!(event.message.contains(r"$(reboot) \u{202e}x"), "{event:?}");
            assert!(!event.message.contains("oc adm") && props["command"].is_null(), "{event:?}");
        }
    }

    // The command lets it in; nothing is told twice.
    let mut kubectl = world.kube.kubectl();
    let approved = kubectl.args(["certificate", "approve", "csr-stranger"]).output().unwrap();
    assert!(approved.status.success() && world.is_approved("csr-stranger").await, "{approved:?}");
    Wish::client("csr-last", "system:node:stranger").ask(&bootstrapper).await;
    until("an event of the last", async || {
        events().await.iter().any(|event| event.message.contains("csr-last")).then_some(())
    })
    .await;
    assert_eq!(events().await.len(), 3);
    assert!(!world.is_approved("csr-last").await);

    // The service goes away, as it does where it runs on a host of the cluster; its hosts are known still.
    server.go_away().await;
    world.join("master-2", "192.0.2.12".parse().unwrap()).await;
    assert!(!world.is_approved("csr-last").await);
    server.come_back().await;
    strict.abort();
    assert!(strict.await.unwrap_err().is_cancelled());

    // As the replaced controller does.
    let lenient = run(true);
    until("a request of anybody", async || world.is_approved("csr-last").await.then_some(())).await;
    Wish::client("csr-anybody", "no node at all").ask(&world.stranger().await).await;
    until("a request of anybody", async || world.is_approved("csr-anybody").await.then_some(())).await;
    assert!(!world.is_approved("csr-other").await);
    service.deregister_cluster(id).await.unwrap();
    assert_eq!(lenient.await.unwrap(), Exit::Unknown);
}
