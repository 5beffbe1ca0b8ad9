//! What follows from a call is there when it answers: each is made where nothing else is at work that could make up for it.

use std::time::Duration;

use assisted_service::Error;
use assisted_service::host::LostHost;
use assisted_store::{Batch, HostFilter};
use assisted_wire::cluster::{Cluster, ClusterStatus, FinalizingStage};
use assisted_wire::host::{HostStage, HostStatus};
use assisted_wire::host_params::BindHostParams;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::step::StepType;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, inventory, on_both_engines};

on_both_engines![
    changes_of_users,
    changes_at_the_same_time,
    hosts_that_come_and_go,
    an_infra_env_that_goes_leaves_no_host,
    a_cluster_that_goes_leaves_no_host,
    progress_to_the_end,
    a_day2_host_starts_over,
    a_pool_hears_of_its_time_sources,
];

const CA: &str = include_str!("../data/ca.pem");

/// The status of a validation of a cluster or a host.
fn validation(info: &str, id: &str) -> String {
    let info: Value = serde_json::from_str(info).unwrap();
    let mut all = info.as_object().unwrap().values().flat_map(|list| list.as_array().unwrap());
    all.find(|entry| entry["id"] == id).unwrap()["status"].as_str().unwrap().to_owned()
}

fn percentage(cluster: &Cluster) -> i64 {
    cluster.progress.clone().unwrap().total_percentage
}

async fn changes_of_users(database: Database) {
    let mut lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    lab.stop_background().await;
    let (id, hosts) = (ready.id, &ready.hosts);
    let change = async |body: Value| {
        let params = serde_json::from_value(body).unwrap();
        let answer = Box::pin(lab.service.clusters().update(&lab.caller, id, params)).await.unwrap();
        let read = lab.get_cluster(id).await;
        assert_eq!((answer.status, &answer.validations_info), (read.status, &read.validations_info));
        read
    };
    let without = change(json!({"api_vips": [], "ingress_vips": []})).await;
    assert_eq!(validation(&without.validations_info, "api-vips-defined"), "failure");
    assert_eq!(without.status, ClusterStatus::PendingForInput);
    let vips = json!({"api_vips": [{"ip": "192.168.126.100"}], "ingress_vips": [{"ip": "192.168.126.101"}]});
    assert_eq!(change(vips).await.status, ClusterStatus::Ready);

    let rename = async |name: &str| {
        let params = serde_json::from_value(json!({"host_name": name})).unwrap();
        let answer = lab.service.hosts().update(&lab.caller, hosts[0], params).await.unwrap();
        (answer.status, lab.get(hosts[0]).await, lab.get(hosts[1]).await, lab.get_cluster(id).await)
    };
    let (answer, own, other, cluster) = rename("node-2").await;
    assert_eq!(
        (answer, own.status, other.status),
        (own.status, HostStatus::Insufficient, HostStatus::Insufficient)
    );
    assert_eq!(validation(&other.validations_info, "hostname-unique"), "failure");
    assert_eq!(cluster.status, ClusterStatus::Insufficient);
    let (answer, own, other, cluster) = rename("node-1").await;
    assert_eq!((answer, own.status, other.status), (HostStatus::Known, HostStatus::Known, HostStatus::Known));
    assert_eq!(cluster.status, ClusterStatus::Ready);

    let disabled = lab.service.hosts().disable(&lab.caller, hosts[0]).await.unwrap();
    assert_eq!(disabled.status, HostStatus::Disabled);
    let cluster = lab.get_cluster(id).await;
    assert_eq!((cluster.status, cluster.enabled_host_count), (ClusterStatus::Insufficient, 2));
    lab.service.hosts().enable(&lab.caller, hosts[0]).await.unwrap();
    assert_eq!(lab.get(hosts[0]).await.status, HostStatus::Discovering);
}

/// Hosts that register, or are made anew, just when their infra-env is removed do not outlive it.
async fn an_infra_env_that_goes_leaves_no_host(database: Database) {
    let lab = Lab::start(&database).await;
    for round in 0..24 {
        let id = lab.infra_env(None).await.id;
        let remove = lab.service.infra_envs().remove_with_hosts(&lab.caller, id);
        Box::pin(leaves_no_host(&lab, id, round, remove)).await;
    }
    lab.stop().await;
}

/// Nor do those of an infra-env that goes with its cluster: it has the same id, as the replaced service once made them.
async fn a_cluster_that_goes_leaves_no_host(database: Database) {
    let lab = Lab::start(&database).await;
    for round in 0..24 {
        let cluster = lab.single_node().await.id;
        let own = lab.infra_env(Some(cluster)).await.id;
        let mut record = lab.store.infra_env(own).await.unwrap().unwrap().record;
        record.infra_env.id = InfraEnvId(cluster.0);
        let mut batch = Batch::new();
        batch.insert_infra_env(&record);
        lab.store.write(batch).await.unwrap();
        let remove = lab.service.clusters().deregister(&lab.caller, cluster);
        Box::pin(leaves_no_host(&lab, record.infra_env.id, round, remove)).await;
    }
    lab.stop().await;
}

/// Removes an infra-env while hosts register and one is made anew, each round a little later.
async fn leaves_no_host(
    lab: &Lab,
    infra_env_id: InfraEnvId,
    round: u64,
    remove: impl Future<Output = Result<(), Error>>,
) {
    let hosts = lab.service.hosts();
    let there = lab.host(infra_env_id).await;
    let remove = async {
        tokio::time::sleep(Duration::from_micros(150 * round)).await;
        remove.await.unwrap();
    };
    let lost = LostHost {
        cluster_id: None,
        status: HostStatus::KnownUnbound,
        role: None,
        stage: None,
        registered_at: lab.time.now(),
        inventory: String::new(),
        validations_info: String::new(),
    };
    let restore = async {
        for _ in 0..20 {
            let _ = hosts.restore(&lab.caller, there, &lost).await;
        }
    };
    let register = join_all((0..8).map(|_| lab.register(infra_env_id, HostId::random())));
    tokio::join!(remove, restore, register);
    let filter = HostFilter { infra_env_id: Some(infra_env_id), ..HostFilter::default() };
    let left = lab.store.hosts(&filter).await.unwrap();
    assert!(left.is_empty(), "round {round}: {left:#?}");
}

/// Each of two changes is decided on without the other, and neither writes what the other does: what only both together
/// mean is found although no time passes.
async fn changes_at_the_same_time(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let rename = async |host: usize, name: String| {
        let params = serde_json::from_value(json!({"host_name": name})).unwrap();
        lab.service.hosts().update(&lab.caller, ready.hosts[host], params).await.unwrap();
    };
    for round in 0..10 {
        let name = format!("same-{round}");
        futures::join!(rename(0, name.clone()), rename(1, name));
        for host in &ready.hosts[..2] {
            lab.until(*host, HostStatus::Insufficient).await;
        }
        lab.until_status(ready.id, ClusterStatus::Insufficient).await;
        rename(0, format!("other-{round}")).await;
        lab.until_status(ready.id, ClusterStatus::Ready).await;
    }
    lab.stop().await;
}

async fn hosts_that_come_and_go(database: Database) {
    let mut lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let pool = lab.infra_env(None).await;
    let waiting = lab.host(pool.id).await;
    lab.report_all(waiting, 4).await;
    lab.until(waiting, HostStatus::KnownUnbound).await;
    lab.stop_background().await;
    let count = async || {
        let cluster = lab.get_cluster(ready.id).await;
        (cluster.status, cluster.total_host_count, cluster.ready_host_count)
    };
    assert_eq!(count().await, (ClusterStatus::Ready, 3, 3));

    let params = BindHostParams { cluster_id: ready.id };
    lab.service.hosts().bind(&lab.caller, waiting, params).await.unwrap();
    assert_eq!(lab.get(waiting).await.status, HostStatus::Binding);
    assert_eq!(count().await, (ClusterStatus::Insufficient, 4, 3));
    // It boots the cluster's own image.
    lab.register(pool.id, waiting.host_id).await.unwrap();
    assert_eq!(lab.get(waiting).await.status, HostStatus::Discovering);
    lab.service.hosts().unbind(&lab.caller, waiting).await.unwrap();
    assert_eq!(lab.get(waiting).await.status, HostStatus::Unbinding);
    assert_eq!(count().await, (ClusterStatus::Ready, 3, 3));

    // One boots again: it is not known any more, the others are no group of three, and their cluster is not ready.
    let again = ready.hosts[0];
    lab.register(again.infra_env_id, again.host_id).await.unwrap();
    assert_eq!(lab.get(again).await.status, HostStatus::Discovering);
    assert_eq!(count().await, (ClusterStatus::Insufficient, 3, 0));
    lab.service.hosts().deregister(&lab.caller, again).await.unwrap();
    assert_eq!(count().await, (ClusterStatus::Insufficient, 2, 0));
}

async fn progress_to_the_end(database: Database) {
    let mut lab = Lab::simulating(&database).await;
    let ready = lab.ready().await;
    let id = ready.id;
    lab.install_at(&ready).await;
    for host in &ready.hosts {
        lab.until(*host, HostStatus::Installing).await;
        lab.until_told(*host, StepType::Install).await;
    }
    lab.until_idle(id).await;
    lab.stop_background().await;

    let mut known = percentage(&lab.get_cluster(id).await);
    for host in &ready.hosts {
        for stage in lab.get(*host).await.progress_stages.unwrap() {
            lab.reach(*host, stage).await;
            let cluster = lab.get_cluster(id).await;
            let shown = percentage(&cluster);
            // The rest is not done before the others are.
            assert!(
                shown > known || stage == HostStage::StartingInstallation,
                "{stage}: {shown} after {known}"
            );
            let own = cluster.hosts.unwrap().into_iter().find(|each| each.id == host.host_id).unwrap();
            assert_eq!(own.progress.unwrap().current_stage, Some(stage));
            known = shown;
        }
        assert_eq!(lab.get(*host).await.status, HostStatus::Installed);
    }
    assert_eq!((lab.get_cluster(id).await.status, known), (ClusterStatus::Finalizing, 80));

    for stage in FinalizingStage::ALL {
        let params = serde_json::from_value(json!({"finalizing_stage": stage})).unwrap();
        lab.service.clusters().update_finalizing_progress(&lab.caller, id, params).await.unwrap();
        let shown = lab.get_cluster(id).await.progress.unwrap();
        assert_eq!(shown.finalizing_stage, Some(*stage));
    }
    lab.service.files().upload_cluster_ingress_cert(&lab.caller, id, CA).await.unwrap();
    for operator in lab.service.clusters().list_operators(&lab.caller, id, None).await.unwrap().0 {
        let report = json!({"name": operator.name, "status": "available", "status_info": "fine"});
        let report = serde_json::from_value(report).unwrap();
        lab.service.clusters().report_monitored_operator_status(&lab.caller, id, report).await.unwrap();
    }
    let cluster = lab.get_cluster(id).await;
    assert_eq!((cluster.status, percentage(&cluster)), (ClusterStatus::Installed, 100));
}

async fn a_day2_host_starts_over(database: Database) {
    let mut lab = Lab::simulating(&database).await;
    let ready = lab.installed().await;
    lab.service.clusters().transform_to_adding_hosts(&lab.caller, ready.id).await.unwrap();
    let host = lab.host(ready.hosts[0].infra_env_id).await;
    lab.report_all(host, 4).await;
    lab.until_told(host, StepType::ApiVipConnectivityCheck).await;
    let reached = json!({"is_success": true, "ignition": "{\"ignition\":{\"version\":\"3.2.0\"}}"});
    lab.reply(host, StepType::ApiVipConnectivityCheck, &reached).await.unwrap();
    lab.until(host, HostStatus::Known).await;
    lab.stop_background().await;

    lab.service.hosts().install(&lab.caller, host).await.unwrap();
    assert_eq!(lab.get(host).await.status, HostStatus::Installing);
    for stage in lab.get(host).await.progress_stages.unwrap() {
        lab.reach(host, stage).await;
    }
    assert_eq!(lab.get(host).await.status, HostStatus::AddedToExistingCluster);
    lab.service.hosts().reset(&lab.caller, host).await.unwrap();
    assert_eq!(lab.get(host).await.status, HostStatus::ResettingPendingUserAction);
    lab.register(host.infra_env_id, host.host_id).await.unwrap();
    assert_eq!(lab.get(host).await.status, HostStatus::Discovering);
}

/// Hosts of a pool are judged one by one, and soon.
async fn a_pool_hears_of_its_time_sources(database: Database) {
    let lab = Lab::start(&database).await;
    let pool = lab.infra_env(None).await;
    let host = lab.host(pool.id).await;
    lab.poll(host).await.unwrap();
    lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    let known = lab.until(host, HostStatus::KnownUnbound).await;
    assert!(!known.validations_info.contains("ntp-synced"), "{}", known.validations_info);
    let params = serde_json::from_value(json!({"additional_ntp_sources": "time.example.com"})).unwrap();
    lab.service.infra_envs().update(&lab.caller, pool.id, params).await.unwrap();
    lab.until_host(host, "judged", |host| host.validations_info.contains("ntp-synced")).await;
    lab.stop().await;
}
