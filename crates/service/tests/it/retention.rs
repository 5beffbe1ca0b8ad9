//! What was kept long enough goes; what is in use stays.

use std::io;

use assisted_blob::Key;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::event::ListEvents;
use assisted_service::file::log::UploadLogs;
use assisted_store::{Batch, Deleted, Store};
use assisted_wire::cluster::{ClusterStatus, LogsType};
use assisted_wire::host::HostStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use crate::lab::{Database, Lab, Time, eventually, on_both_engines, refusal};

on_both_engines![
    inactive_clusters_are_deregistered,
    no_more_at_a_time_than_allowed,
    deregistered_clusters_go_for_good,
    logs_that_arrive_after_their_cluster_went_are_not_kept,
    unused_infra_envs_go_with_their_hosts,
    events_of_nothing_go_piece_by_piece,
    nothing_goes_where_it_is_switched_off,
];

const HOUR: i64 = 3600;

impl Lab {
    async fn is_registered(&self, id: ClusterId) -> bool {
        self.service
            .clusters()
            .list(&self.caller, Default::default())
            .await
            .unwrap()
            .0
            .iter()
            .any(|one| one.id == id)
    }

    /// A cluster that nothing but time changes any more.
    async fn settled(&self) -> ClusterId {
        let id = self.single_node().await.id;
        self.until_status(id, ClusterStatus::PendingForInput).await;
        id
    }

    async fn until_deregistered(&self, id: ClusterId) {
        eventually("deregistered", async || match self.is_registered(id).await {
            true => Err("registered".to_owned()),
            false => Ok(()),
        })
        .await;
    }

    async fn until_removed(&self, id: InfraEnvId) {
        eventually("removed", async || match self.service.infra_envs().get(&self.caller, id).await {
            Ok(infra_env) => Err(infra_env.name),
            Err(_) => Ok(()),
        })
        .await;
    }

    async fn touch(&self, id: ClusterId, ntp_source: &str) {
        let params = serde_json::from_value(json!({"additional_ntp_source": ntp_source})).unwrap();
        Box::pin(self.service.clusters().update(&self.caller, id, params)).await.unwrap();
    }
}

async fn inactive_clusters_are_deregistered(database: Database) {
    let lab = Lab::start(&database).await;
    let (idle, busy) = (lab.settled().await, lab.settled().await);
    let host = lab.host(lab.infra_env(Some(idle)).await.id).await;
    lab.pass(400 * HOUR);
    // That its host is silent changes the cluster.
    lab.until(host, HostStatus::Disconnected).await;
    let since = lab.get_cluster(idle).await.updated_at.0;
    assert_eq!(since, lab.time.now());
    // Before the clock is turned past its own limit too: whoever looks first would find it inactive.
    lab.touch(busy, "10.0.0.1").await;
    lab.pass(479 * HOUR);
    lab.touch(busy, "10.0.0.2").await;
    assert!(lab.is_registered(idle).await);
    lab.pass(2 * HOUR);
    lab.until_deregistered(idle).await;
    let names = lab.event_names(idle).await;
    for name in ["after_inactivity_cluster_deregistered", "cluster_deregistered", "host_deregistered"] {
        assert_eq!(names.iter().filter(|known| *known == name).count(), 1, "{name} in {names:?}");
    }
    assert_eq!(refusal(lab.service.hosts().get(&lab.caller, host).await).0, RefusalKind::NotFound);
    assert!(lab.is_registered(busy).await);
    lab.stop().await;
}

async fn no_more_at_a_time_than_allowed(database: Database) {
    let lab =
        Lab::with(&database, Time::default(), |settings| settings.retention.max_clusters_per_interval = 2)
            .await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(lab.settled().await);
        lab.pass(1);
    }
    let left = async || {
        let mut left = 0;
        for id in &ids {
            left += usize::from(lab.is_registered(*id).await);
        }
        left
    };
    // The first look was planned for an hour after the start: far beyond the limit it is the first at all.
    lab.pass(600 * HOUR);
    for expected in [3, 1, 0] {
        eventually("two fewer", async || match left().await {
            found if found == expected => Ok(()),
            found => Err(found.to_string()),
        })
        .await;
        // The next two have to wait for the next hour.
        lab.pass(HOUR - 1);
        lab.service.ready().await.unwrap();
        assert_eq!(left().await, expected);
        lab.pass(1);
    }
    lab.stop().await;
}

async fn until_purged(store: &Store, id: ClusterId) {
    eventually("gone for good", async || match store.cluster(id, Deleted::Shown).await.unwrap() {
        Some(stored) => Err(stored.record.cluster.status_info),
        None => Ok(()),
    })
    .await;
}

async fn deregistered_clusters_go_for_good(database: Database) {
    let lab = Lab::start(&database).await;
    let (gone, stays) = (lab.settled().await, lab.settled().await);
    let hosts = [gone, stays].map(async |id| lab.host(lab.infra_env(Some(id)).await.id).await);
    let [host, other]: [HostKey; 2] = futures::future::join_all(hosts).await.try_into().unwrap();
    let file = |id: ClusterId| Key::new(format!("{id}/logs/controller/logs.tar.gz")).unwrap();
    for id in [gone, stays] {
        lab.service.blob().put(&file(id), "logs").await.unwrap();
    }
    lab.service.clusters().deregister(&lab.caller, gone).await.unwrap();
    let store = Store::open(&database.address).await.unwrap();
    lab.pass(71 * HOUR);
    lab.service.ready().await.unwrap();
    assert!(lab.service.blob().exists(&file(gone)).await.unwrap());
    assert!(!lab.event_names(gone).await.is_empty());

    lab.pass(2 * HOUR);
    until_purged(&store, gone).await;
    assert!(!lab.service.blob().exists(&file(gone)).await.unwrap());
    assert!(lab.event_names(gone).await.is_empty());
    eventually("purged", async || match store.host(host, Deleted::Shown).await.unwrap() {
        Some(_) => Err("there".to_owned()),
        None => Ok(()),
    })
    .await;
    assert!(store.reports(host).await.unwrap().is_empty() && store.actions(gone).await.unwrap().is_empty());
    let of_host = ListEvents { host_id: Some(host.host_id), ..ListEvents::default() };
    assert!(lab.events(of_host).await.events.0.is_empty());

    assert!(lab.is_registered(stays).await && lab.service.blob().exists(&file(stays)).await.unwrap());
    assert!(!lab.event_names(stays).await.is_empty());
    lab.get(other).await;
    lab.stop().await;
}

async fn logs_that_arrive_after_their_cluster_went_are_not_kept(database: Database) {
    let lab = Lab::start(&database).await;
    let id = lab.settled().await;
    let store = Store::open(&database.address).await.unwrap();
    let (begun, (end, ended)) = (Notify::new(), oneshot::channel::<()>());
    let piece = |text: &'static str| -> io::Result<Bytes> { Ok(Bytes::from_static(text.as_bytes())) };
    let first = stream::once(async {
        begun.notify_one();
        piece("begun while there was a cluster, ")
    });
    let last = stream::once(async {
        ended.await.unwrap();
        piece("ended when there was none")
    });
    let upload =
        UploadLogs { cluster_id: id, logs_type: LogsType::Controller, infra_env_id: None, host_id: None };
    let uploaded = Box::pin(lab.service.files().upload_logs(&lab.caller, upload, first.chain(last)));
    let purged = Box::pin(async {
        begun.notified().await;
        lab.service.clusters().deregister(&lab.caller, id).await.unwrap();
        lab.pass(74 * HOUR);
        until_purged(&store, id).await;
        end.send(()).unwrap();
    });
    let (uploaded, ()) = tokio::join!(uploaded, purged);
    assert_eq!(refusal(uploaded).0, RefusalKind::NotFound);
    let files = lab.service.blob().all().await.unwrap();
    let left: Vec<_> = files.iter().filter(|(key, _)| key.as_str().starts_with(&id.to_string())).collect();
    assert!(left.is_empty(), "{left:?}");
    lab.stop().await;
}

async fn unused_infra_envs_go_with_their_hosts(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.settled().await;
    let (pool, bound) = (lab.infra_env(None).await.id, lab.infra_env(Some(cluster)).await.id);
    let host = lab.host(pool).await;
    lab.report_all(host, 1).await;
    lab.pass(479 * HOUR);
    let young = lab.infra_env(None).await.id;
    assert!(lab.service.infra_envs().get(&lab.caller, pool).await.is_ok());
    lab.touch(cluster, "10.0.0.1").await;
    lab.pass(2 * HOUR);
    lab.until_removed(pool).await;
    assert_eq!(refusal(lab.poll(host).await).0, RefusalKind::NotFound);
    assert_eq!(refusal(lab.register(pool, host.host_id).await).0, RefusalKind::NotFound);
    for id in [young, bound] {
        assert!(lab.service.infra_envs().get(&lab.caller, id).await.is_ok());
    }

    // Its hosts are kept a while for who asks where they are.
    let store = Store::open(&database.address).await.unwrap();
    assert!(store.host(host, Deleted::Shown).await.unwrap().is_some());
    lab.pass(74 * HOUR);
    eventually("purged", async || match store.host(host, Deleted::Shown).await.unwrap() {
        Some(_) => Err("there".to_owned()),
        None => Ok(()),
    })
    .await;
    lab.stop().await;
}

async fn events_of_nothing_go_piece_by_piece(database: Database) {
    let lab = Lab::start(&database).await;
    let (cluster, pool) = (lab.settled().await, lab.infra_env(None).await.id);
    let tell = async |name: &str, cluster_id: Option<ClusterId>, infra_env_id: Option<InfraEnvId>| {
        let event = json!({
            "name": name, "severity": "info", "message": "m", "event_time": "2026-01-01T00:00:00Z",
            "cluster_id": cluster_id, "infra_env_id": infra_env_id,
        });
        let event = serde_json::from_value(event).unwrap();
        lab.service.events().trigger(&lab.caller, event).await.unwrap();
    };
    tell("of-a-cluster", Some(cluster), None).await;
    tell("of-an-infra-env", None, Some(pool)).await;
    // More than are looked at at once.
    let store = Store::open(&database.address).await.unwrap();
    let mut batch = Batch::new();
    let event = json!({
        "name": "of-nothing", "severity": "info", "message": "", "event_time": lab.time.now().to_string(),
    });
    let event = serde_json::from_value(event).unwrap();
    for _ in 0..1500 {
        batch.insert_client_event(&event);
    }
    store.write(batch).await.unwrap();
    tell("of-no-cluster", Some(ClusterId::random()), Some(pool)).await;
    let names = async || {
        let all = lab.events(ListEvents { limit: Some(-1), ..ListEvents::default() }).await.events.0;
        all.into_iter().map(|event| event.name).collect::<Vec<_>>()
    };
    lab.pass(71 * HOUR);
    lab.service.ready().await.unwrap();
    assert_eq!(names().await.iter().filter(|name| *name == "of-nothing").count(), 1500);

    lab.pass(2 * HOUR);
    eventually("gone", async || {
        // The rest is looked at a second later, and all of them an hour later.
        lab.pass_at_rest(60).await;
        let names = names().await;
        let left = names.iter().filter(|name| name.starts_with("of-no")).count();
        if left == 0 { Ok(()) } else { Err(left.to_string()) }
    })
    .await;
    let names = names().await;
    for name in ["of-a-cluster", "of-an-infra-env", "cluster_registration_succeeded"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    lab.stop().await;
}

async fn nothing_goes_where_it_is_switched_off(database: Database) {
    let lab = Lab::with(&database, Time::default(), |settings| {
        settings.retention.enable_deregister_inactive = false;
        settings.retention.enable_delete_unregistered = false;
    })
    .await;
    let (idle, gone) = (lab.settled().await, lab.settled().await);
    let pool = lab.infra_env(None).await.id;
    lab.service.clusters().deregister(&lab.caller, gone).await.unwrap();
    lab.pass(5000 * HOUR);
    // The one that can't be switched off tells that there was a look.
    lab.until_removed(pool).await;
    let store = Store::open(&database.address).await.unwrap();
    assert!(lab.is_registered(idle).await);
    assert!(store.cluster(gone, Deleted::Shown).await.unwrap().is_some());
    lab.stop().await;
}
