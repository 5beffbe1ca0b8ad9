//! Two services on one database.

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use assisted_wire::step::StepType;
use serde_json::json;

use crate::lab::{Database, Lab, refusal};

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
    one.tell_all(host, 1).await;
    other.tell_all(host, 1).await;
    other.until(host, HostStatus::Known).await;
    one.until_cluster(cluster.id, "ready", |cluster| cluster.status == ClusterStatus::Ready).await;

    // What one remembers is forgotten when the other changes it.
    other.steps(host).await;
    let params = serde_json::from_value(json!({"additional_ntp_source": "10.0.0.1"})).unwrap();
    one.service.update_cluster(&one.caller, cluster.id, params).await.unwrap();
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let steps = other.poll(host).await.unwrap().instructions.unwrap();
        if steps.iter().flat_map(|step| step.args.iter().flatten()).any(|arg| arg.contains("10.0.0.1")) {
            break;
        }
        assert!(std::time::Instant::now() < limit, "the other replica tells the old time source");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }

    // Polls that only one hears keep the host alive for both.
    for _ in 0..8 {
        one.pass(60);
        one.poll(host).await.unwrap();
    }
    other.service.wake();
    assert_eq!(other.get(host).await.status, HostStatus::Known);

    other.service.deregister_host(&other.caller, host).await.unwrap();
    loop {
        if one.poll(host).await.is_err() {
            break;
        }
        assert!(std::time::Instant::now() < limit + std::time::Duration::from_secs(30));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(refusal(one.poll(host).await).0, 404);
    one.stop().await;
    other.stop().await;
}
