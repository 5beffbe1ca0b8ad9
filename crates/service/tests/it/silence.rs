//! Hosts that are not heard any more.

use assisted_wire::host::HostStatus;

use crate::lab::{Database, Lab, on_both_engines};

on_both_engines![silence_counts_after_three_minutes, whoever_polls_stays];

async fn silence_counts_after_three_minutes(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let pool = lab.infra_env(None).await;
    let (bound, free) = (lab.host(infra_env.id).await, lab.host(pool.id).await);
    lab.report_all(bound, 1).await;
    lab.report_all(free, 2).await;
    lab.until(bound, HostStatus::Known).await;
    lab.until(free, HostStatus::KnownUnbound).await;

    // The bootstrap host may be silent for two minutes more.
    lab.pass(181);
    lab.until(free, HostStatus::DisconnectedUnbound).await;
    assert_eq!(lab.get(bound).await.status, HostStatus::Known);
    lab.pass(120);
    lab.until(bound, HostStatus::Disconnected).await;

    lab.poll(bound).await.unwrap();
    lab.poll(free).await.unwrap();
    lab.until(bound, HostStatus::Known).await;
    lab.until(free, HostStatus::KnownUnbound).await;
    lab.stop().await;
}

async fn whoever_polls_stays(database: Database) {
    let lab = Lab::start(&database).await;
    let pool = lab.infra_env(None).await;
    let (talks, falls_silent) = (lab.host(pool.id).await, lab.host(pool.id).await);
    for host in [talks, falls_silent] {
        lab.report_all(host, 1).await;
        lab.until(host, HostStatus::KnownUnbound).await;
    }
    for _ in 0..6 {
        lab.pass(60);
        lab.poll(talks).await.unwrap();
    }
    lab.until(falls_silent, HostStatus::DisconnectedUnbound).await;
    assert_eq!(lab.get(talks).await.status, HostStatus::KnownUnbound);
    let shown = lab.get(talks).await;
    assert_eq!(shown.checked_in_at.0, lab.time.now());
    assert_eq!(shown.timestamp, lab.time.now().as_second());
    lab.stop().await;
}
