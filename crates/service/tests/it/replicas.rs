//! Two services on one database.

use assisted_core::model::refusal::RefusalKind;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use assisted_wire::step::StepType;
use serde_json::json;

use crate::lab::{Database, Lab, eventually, refusal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_sees_what_the_other_does() {
    let database = Database::postgres();
    let one = Lab::start(&database).await;
    let other = Lab::at(&database, one.time.clone()).await;
    let cluster = one.single_node().await;
    let infra_env = other.infra_env(Some(cluster.id)).await;
    let host = one.host(infra_env.id).await;
    // The agent talks to both in turn.
    assert_eq!(other.steps(host).await, [StepType::Inventory]);
    one.report_all(host, 1).await;
    other.report_all(host, 1).await;
    other.until(host, HostStatus::Known).await;
    one.until_cluster(cluster.id, "ready", |cluster| cluster.status == ClusterStatus::Ready).await;

    // What one remembers is forgotten when the other changes it.
    other.steps(host).await;
    let params = serde_json::from_value(json!({"additional_ntp_source": "10.0.0.1"})).unwrap();
    one.service.clusters().update(&one.caller, cluster.id, params).await.unwrap();
    eventually("told the new time source", async || {
        let steps = other.poll(host).await.unwrap().instructions.unwrap();
        let told =
            steps.iter().flat_map(|step| step.args.iter().flatten()).any(|arg| arg.contains("10.0.0.1"));
        told.then_some(()).ok_or(format!("{steps:?}"))
    })
    .await;

    // Polls that only one hears keep the host alive for both.
    for _ in 0..8 {
        one.pass(60);
        one.poll(host).await.unwrap();
    }
    other.service.work().notify();
    assert_eq!(other.get(host).await.status, HostStatus::Known);

    other.service.hosts().deregister(&other.caller, host).await.unwrap();
    let gone = eventually("gone", async || match one.poll(host).await {
        Ok(steps) => Err(format!("{steps:?}")),
        gone => Ok(gone),
    })
    .await;
    assert_eq!(refusal(gone).0, RefusalKind::NotFound);
    one.stop().await;
    other.stop().await;
}
