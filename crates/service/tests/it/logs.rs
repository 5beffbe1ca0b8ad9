//! Logs: their progress, their upload, their download.

use std::collections::BTreeMap;
use std::io::{self, Read};

use assisted_blob::Key;
use assisted_config::Size;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::Error;
use assisted_service::file::File;
use assisted_service::file::log::{DownloadLogs, UploadLogs};
use assisted_wire::cluster::{LogsState, LogsType};
use assisted_wire::cluster_params::LogsProgressParams;
use assisted_wire::host::HostRole;
use assisted_wire::id::{ClusterId, HostId};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, PULL_SECRET, Time, content, on_both_engines, refusal};

on_both_engines![
    progress_is_shown,
    kept_as_they_come,
    by_their_role_and_type,
    refused,
    no_more_than_there_is_room_for,
    all_in_one,
    of_a_deleted_cluster,
];

impl Lab {
    async fn upload_logs(&self, upload: UploadLogs, content: &[u8]) -> Result<(), Error> {
        let pieces: Vec<io::Result<Bytes>> =
            content.chunks(1000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        self.service.files().upload_logs(&self.caller, upload, stream::iter(pieces)).await
    }

    async fn logs(&self, query: DownloadLogs) -> Result<(String, Vec<u8>), Error> {
        let file = self.service.files().download_cluster_logs(&self.caller, query).await?;
        Ok(bytes(file).await)
    }
}

async fn bytes(file: File) -> (String, Vec<u8>) {
    (file.name.clone(), content(file).await)
}

fn of_host(cluster_id: ClusterId, host: HostKey) -> UploadLogs {
    UploadLogs {
        cluster_id,
        logs_type: LogsType::Host,
        infra_env_id: Some(host.infra_env_id),
        host_id: Some(host.host_id),
    }
}

fn of_controller(cluster_id: ClusterId) -> UploadLogs {
    UploadLogs { cluster_id, logs_type: LogsType::Controller, infra_env_id: None, host_id: None }
}

fn query(cluster_id: ClusterId, logs_type: Option<LogsType>, host_id: Option<HostId>) -> DownloadLogs {
    DownloadLogs { cluster_id, logs_type, host_id }
}

async fn progress_is_shown(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    let state = |logs_state| LogsProgressParams { logs_state };
    for logs_state in [LogsState::Requested, LogsState::Completed] {
        lab.service.files().update_cluster_logs_progress(&lab.caller, id, state(logs_state)).await.unwrap();
        lab.service.files().update_host_logs_progress(&lab.caller, host, state(logs_state)).await.unwrap();
        let (cluster, host) = (lab.get_cluster(id).await, lab.get(host).await);
        assert_eq!((cluster.logs_info, host.logs_info), (Some(logs_state), Some(logs_state)));
        // Only a request says when it began.
        assert_eq!(
            (cluster.controller_logs_started_at.0, host.logs_started_at.0),
            (lab.time.now(), lab.time.now())
        );
    }
    let nobody = HostKey { host_id: HostId::random(), ..host };
    let missing =
        lab.service.files().update_host_logs_progress(&lab.caller, nobody, state(LogsState::Requested)).await;
    assert_eq!(refusal(missing).0, RefusalKind::NotFound);
    let missing = lab
        .service
        .files()
        .update_cluster_logs_progress(&lab.caller, ClusterId::random(), state(LogsState::Requested))
        .await;
    assert_eq!(refusal(missing).0, RefusalKind::NotFound);
    lab.stop().await;
}

async fn kept_as_they_come(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    lab.report_all(host, 1).await;
    // No archive at all, and none of the service's business.
    let garbage: Vec<u8> = (0..100_000_u32).map(|number| (number % 251) as u8).collect();
    lab.upload_logs(of_host(id, host), b"earlier").await.unwrap();
    lab.upload_logs(of_host(id, host), &garbage).await.unwrap();
    lab.upload_logs(of_controller(id), b"first").await.unwrap();
    lab.upload_logs(of_controller(id), b"second").await.unwrap();

    let (cluster, shown) = (lab.get_cluster(id).await, lab.get(host).await);
    assert_eq!(
        (cluster.logs_info, shown.logs_info),
        (Some(LogsState::Collecting), Some(LogsState::Collecting))
    );
    assert_eq!(
        (cluster.controller_logs_collected_at.0, shown.logs_collected_at.0),
        (lab.time.now(), lab.time.now())
    );
    let names = lab.event_names(id).await;
    let count = |name: &str| names.iter().filter(|known| *known == name).count();
    assert_eq!((count("host_logs_uploaded"), count("cluster_logs_uploaded")), (2, 1));

    let got = lab.logs(query(id, Some(LogsType::Host), Some(host.host_id))).await.unwrap();
    assert_eq!(got, ("c_bootstrap_node-1.tar.gz".to_owned(), garbage));
    let got = lab.logs(query(id, Some(LogsType::Controller), None)).await.unwrap();
    assert_eq!(got, (format!("c_{id}_controller.tar.gz"), b"second".to_vec()));
    lab.service.clusters().deregister(&lab.caller, id).await.unwrap();
    assert_eq!(lab.logs(query(id, Some(LogsType::Controller), None)).await.unwrap().1, b"second");
    lab.stop().await;
}

async fn by_their_role_and_type(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.cluster(json!({"base_dns_domain": "example.com"})).await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    lab.report_all(host, 1).await;
    lab.until_host(host, "a suggestion", |host| host.suggested_role == Some(HostRole::Master)).await;
    lab.upload_logs(of_host(id, host), b"host").await.unwrap();
    let name = async || lab.logs(query(id, Some(LogsType::Host), Some(host.host_id))).await.unwrap().0;
    // What is suggested is not what is set.
    assert_eq!(name().await, "c_auto-assign_node-1.tar.gz");
    let params = serde_json::from_value(json!({"host_role": "worker"})).unwrap();
    lab.service.hosts().update(&lab.caller, host, params).await.unwrap();
    assert_eq!(name().await, "c_worker_node-1.tar.gz");

    // Of a type that nobody waits for.
    let other = UploadLogs { logs_type: LogsType::All, ..of_controller(id) };
    lab.upload_logs(other, b"other").await.unwrap();
    assert_eq!(lab.get_cluster(id).await.logs_info, None);
    assert_eq!(refusal(lab.logs(query(id, Some(LogsType::Controller), None)).await).0, RefusalKind::Conflict);
    lab.upload_logs(of_controller(id), b"controller").await.unwrap();
    let files = unpack(&lab.logs(query(id, None, None)).await.unwrap().1);
    assert_eq!(files["all_logs.tar.gz"], b"other");
    assert_eq!(files["controller_logs.tar.gz"], b"controller");
    let untyped = UploadLogs { logs_type: LogsType::Empty, ..of_controller(id) };
    assert_eq!(
        refusal(lab.upload_logs(untyped, b"").await),
        (RefusalKind::Invalid, "logs_type is required".to_owned())
    );
    lab.stop().await;
}

async fn refused(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    let without = UploadLogs { host_id: None, ..of_host(id, host) };
    let text = "cluster_id and host_id are required for upload host logs".to_owned();
    assert_eq!(refusal(lab.upload_logs(without, b"").await), (RefusalKind::Invalid, text));
    let nobody = UploadLogs { host_id: Some(HostId::random()), ..of_host(id, host) };
    assert_eq!(refusal(lab.upload_logs(nobody, b"").await).0, RefusalKind::NotFound);
    assert_eq!(
        refusal(lab.upload_logs(of_host(ClusterId::random(), host), b"").await).0,
        RefusalKind::NotFound
    );
    assert_eq!(
        refusal(lab.upload_logs(of_controller(ClusterId::random()), b"").await).0,
        RefusalKind::NotFound
    );

    let host_id = Some(host.host_id);
    for (asked, expected) in [
        (
            query(id, Some(LogsType::Host), None),
            (RefusalKind::Invalid, "Host ID must be provided for downloading host logs".to_owned()),
        ),
        (
            query(id, Some(LogsType::Host), host_id),
            (RefusalKind::Conflict, format!("Logs for host {} were not found", host.host_id)),
        ),
        (
            query(id, Some(LogsType::Controller), None),
            (RefusalKind::Conflict, format!("Controller Logs for cluster {id} were not found")),
        ),
        (query(ClusterId::random(), None, None), (RefusalKind::NotFound, "record not found".to_owned())),
    ] {
        assert_eq!(refusal(lab.logs(asked).await), expected);
    }
    assert_eq!(
        refusal(lab.logs(query(id, Some(LogsType::Host), Some(HostId::random()))).await).0,
        RefusalKind::NotFound
    );

    // Broken off, and without an end: nothing is kept of either.
    let broken =
        stream::iter([Ok(Bytes::from("half")), Err(io::Error::new(io::ErrorKind::InvalidData, "cut off"))]);
    let error = lab.service.files().upload_logs(&lab.caller, of_controller(id), broken).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (RefusalKind::Invalid, "cut off".to_owned()));
    let piece = Bytes::from(vec![0; 1 << 20]);
    let endless = stream::repeat_with(move || Ok(piece.clone()));
    let error = lab.service.files().upload_logs(&lab.caller, of_controller(id), endless).await.unwrap_err();
    let text = "upfile in formData should be at most 262144000 bytes long".to_owned();
    assert_eq!((error.kind(), error.to_string()), (RefusalKind::Invalid, text));
    assert_eq!(lab.get_cluster(id).await.logs_info, None);
    assert_eq!(refusal(lab.logs(query(id, Some(LogsType::Controller), None)).await).0, RefusalKind::Conflict);
    lab.stop().await;
}

async fn no_more_than_there_is_room_for(database: Database) {
    let start =
        async || Lab::with(&database, Time::default(), |settings| settings.limits.logs = Size(10_000)).await;
    let lab = start().await;
    let id = lab.single_node().await.id;
    let infra_env = lab.infra_env(Some(id)).await.id;
    let (host, another) = (lab.host(infra_env).await, lab.host(infra_env).await);
    lab.upload_logs(of_controller(id), &[1; 6000]).await.unwrap();
    let text = "the service keeps as many logs as it may, MAX_LOG_BYTES=10000: delete clusters that nobody needs, or set it higher";
    let full = || (RefusalKind::OutOfSpace, text.to_owned());
    assert_eq!(refusal(lab.upload_logs(of_host(id, host), &[2; 4001]).await), full());
    assert_eq!(
        refusal(lab.logs(query(id, Some(LogsType::Host), Some(host.host_id))).await).0,
        RefusalKind::Conflict
    );
    // What was refused takes no room, and what is replaced gives its own.
    lab.upload_logs(of_host(id, host), &[3; 4000]).await.unwrap();
    assert_eq!(refusal(lab.upload_logs(of_host(id, host), &[4; 4001]).await), full());
    lab.upload_logs(of_controller(id), &[5; 5999]).await.unwrap();
    // The oldest are there as they were.
    let of_host_now = lab.logs(query(id, Some(LogsType::Host), Some(host.host_id))).await.unwrap();
    assert_eq!(of_host_now.1, [3; 4000]);
    lab.stop().await;

    // What others have stored counts.
    let lab = start().await;
    let other = UploadLogs { logs_type: LogsType::All, ..of_controller(id) };
    assert_eq!(refusal(lab.upload_logs(other, &[6; 2]).await), full());
    lab.upload_logs(other, &[6]).await.unwrap();
    assert_eq!(refusal(lab.upload_logs(of_host(id, another), b"").await), full());
    lab.stop().await;
}

/// The files of an archive by name; those of inner archives too.
fn unpack(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if name.ends_with(".tar") {
            files.extend(
                unpack(&content).into_iter().map(|(inner, content)| (format!("{name}/{inner}"), content)),
            );
        } else {
            assert!(files.insert(name.clone(), content).is_none(), "{name} twice");
        }
    }
    files
}

async fn all_in_one(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.single_node().await.id;
    let infra_env = lab.infra_env(Some(id)).await.id;
    let (host, gone) = (lab.host(infra_env).await, lab.host(infra_env).await);
    lab.report_all(host, 1).await;
    let long = format!("{}.yaml", "n".repeat(240));
    for name in ["x.yaml", long.as_str()] {
        let params = json!({"folder": "openshift", "file_name": name, "content": "YTogMQ=="});
        let params = serde_json::from_value(params).unwrap();
        lab.service.files().create_cluster_manifest(&lab.caller, id, params).await.unwrap();
    }
    lab.service.clusters().update_ui_settings(&lab.caller, id, "kept by a UI".to_owned()).await.unwrap();
    lab.upload_logs(of_host(id, host), &[7; 1000]).await.unwrap();
    lab.upload_logs(of_host(id, gone), b"gone").await.unwrap();
    lab.upload_logs(of_controller(id), &[8; 512]).await.unwrap();
    lab.service.hosts().deregister(&lab.caller, gone).await.unwrap();

    let (name, archive) = lab.logs(query(id, None, Some(host.host_id))).await.unwrap();
    assert_eq!((name, archive.len() % 512), (format!("c_{id}.tar"), 0));
    let files = unpack(&archive);
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    let long = format!("cluster_manifest_user_openshift_{long}");
    assert_eq!(
        names,
        [
            "c_bootstrap_node-1.tar/c_bootstrap_node-1.tar.gz",
            "cluster_events.json",
            &long,
            "cluster_manifest_user_openshift_x.yaml",
            "cluster_metadata.json",
            "controller_logs.tar.gz",
        ]
    );
    assert_eq!(files[names[0]], [7; 1000]);
    assert_eq!(files["controller_logs.tar.gz"], [8; 512]);
    assert_eq!(files[&long], b"a: 1");
    let events: Vec<Value> = serde_json::from_slice(&files["cluster_events.json"]).unwrap();
    assert!(events.iter().any(|event| event["name"] == "cluster_logs_uploaded"), "{events:?}");
    let metadata: Value = serde_json::from_slice(&files["cluster_metadata.json"]).unwrap();
    assert_eq!(
        (&metadata["pull_secret"], &metadata["hosts"][0]["id"]),
        (&json!("SECRET"), &json!(host.host_id))
    );
    // What the API does not show stands there, too; a level is one blank deep.
    assert_eq!(
        (&metadata["ui_settings"], &metadata["IgnoredHostValidations"]),
        (&json!("kept by a UI"), &json!(""))
    );
    for member in
        ["kube_key_name", "MachineNetworkCidrUpdatedAt", "ApiVipLease", "mirror_registry_configuration"]
    {
        assert!(metadata.get(member).is_some(), "{member}: {metadata}");
    }
    assert!(files["cluster_metadata.json"].starts_with(b"{\n \""));
    assert!(!files["cluster_metadata.json"].windows(12).any(|part| part == &PULL_SECRET.as_bytes()[..12]));
    lab.stop().await;
}

/// The same archive before its cluster is deleted and after, with what the API shows to nobody.
async fn of_a_deleted_cluster(database: Database) {
    let lab = Lab::with(&database, Time::default(), |settings| {
        settings.clusters.tnf_clusters_support = true;
    })
    .await;
    let id = lab.cluster(json!({"base_dns_domain": "example.com"})).await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    lab.report_all(host, 1).await;
    let params = json!({
        "host_role": "master",
        "fencing_credentials": {"address": "redfish+https://bmc/1", "username": "ann", "password": "hunter2"},
    });
    let params = serde_json::from_value(params).unwrap();
    lab.service.hosts().update(&lab.caller, host, params).await.unwrap();
    for (name, category) in [("for a person", "user"), ("for a counter", "metrics")] {
        let event = json!({
            "name": name, "cluster_id": id, "category": category, "severity": "info", "message": "triggered",
            "event_time": "2000-01-01T00:00:00Z",
        });
        lab.service.events().trigger(&lab.caller, serde_json::from_value(event).unwrap()).await.unwrap();
    }
    lab.upload_logs(of_host(id, host), b"log").await.unwrap();
    for (path, content) in [
        (format!("logs/{}/boot_logs.tar.gz", host.host_id), "log of a boot"),
        ("manifests/openshift/50-masters.yaml".to_owned(), "kind: MachineConfig"),
    ] {
        let key = Key::new(format!("{id}/{path}")).unwrap();
        lab.service.blob().put(&key, content).await.unwrap();
    }

    let bundle = async || unpack(&lab.logs(query(id, None, None)).await.unwrap().1);
    let before = bundle().await;
    lab.service.clusters().deregister(&lab.caller, id).await.unwrap();
    for (files, is_deleted) in [(before, false), (bundle().await, true)] {
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "c_master_node-1.tar/c_master_boot_node-1.tar.gz",
                "c_master_node-1.tar/c_master_node-1.tar.gz",
                "cluster_events.json",
                "cluster_manifest_system_openshift_50-masters.yaml",
                "cluster_metadata.json",
            ]
        );
        assert_eq!(
            (files[names[0]].as_slice(), files[names[1]].as_slice()),
            (&b"log of a boot"[..], &b"log"[..])
        );
        assert_eq!(files[names[3]], b"kind: MachineConfig");

        let metadata = &files["cluster_metadata.json"];
        assert!(!String::from_utf8_lossy(metadata).contains("hunter2"));
        let metadata: Value = serde_json::from_slice(metadata).unwrap();
        assert_eq!(
            (&metadata["hosts"][0]["fencing_credentials"], metadata["deleted_at"].is_string()),
            (&json!("SECRET"), is_deleted)
        );

        let events: Vec<Value> = serde_json::from_slice(&files["cluster_events.json"]).unwrap();
        let triggered: Vec<_> = events
            .iter()
            .filter(|event| event["message"] == "triggered")
            .map(|event| &event["name"])
            .collect();
        assert_eq!(triggered, ["for a person"]);
        for event in &events {
            assert_eq!(event["category"], "user", "{event}");
            assert_eq!(
                (&event["CreatedAt"], &event["UpdatedAt"]),
                (&event["event_time"], &event["event_time"])
            );
            assert_eq!(event.get("DeletedAt"), Some(&Value::Null));
        }
        // The clock stands still: what tells them apart is their number.
        let numbers: Vec<_> = events.iter().map(|event| event["ID"].as_i64().unwrap()).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    }
    lab.stop().await;
}
