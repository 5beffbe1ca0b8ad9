//! Clocks of machines that jump, or that differ.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use assisted_service::Clock;
use assisted_store::Deleted;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::lab::{Database, Lab, eventually};

const HOUR: i64 = 3600;

/// A machine whose clock differs from the real time.
#[derive(Clone, Default)]
struct Machine(Arc<AtomicI64>);

impl Machine {
    fn clock(&self) -> Clock {
        let ahead = Arc::clone(&self.0);
        Clock::following(move || Timestamp::now() + SignedDuration::from_secs(ahead.load(Ordering::SeqCst)))
    }

    fn jump(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_disconnects_nobody_and_holds_up_nothing() {
    let (database, machine) = (Database::sqlite(), Machine::default());
    let lab = Lab::clocked(&database, machine.clock()).await;
    let id = lab.single_node().await.id;
    let host = lab.host(lab.infra_env(Some(id)).await.id).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    for jump in [2 * HOUR, -4 * HOUR] {
        machine.jump(jump);
        lab.service.work().notify();
        // What is due is looked at, and the host still is as it was.
        let params = serde_json::from_value(json!({"tags": format!("jump{}", jump.unsigned_abs())})).unwrap();
        lab.service.clusters().update(&lab.caller, id, params).await.unwrap();
        lab.until_idle(id).await;
        assert_eq!(lab.get(host).await.status, HostStatus::Known);
        let cluster = lab.until_cluster(id, "ready", |cluster| cluster.status == ClusterStatus::Ready).await;
        let behind = Timestamp::now().duration_since(cluster.updated_at.0).as_secs();
        assert!((0..600).contains(&behind), "{behind} seconds");
    }
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_tell_the_time_of_their_database() {
    let database = Database::postgres();
    for ahead in [30, -30, HOUR] {
        let machine = Machine::default();
        machine.jump(ahead);
        let clock = machine.clock();
        let lab = Lab::clocked(&database, clock.clone()).await;
        eventually("the time of the database", async || {
            let apart = clock.now().duration_since(Timestamp::now()).abs();
            (apart < SignedDuration::from_secs(5)).then_some(()).ok_or(format!("{apart} apart"))
        })
        .await;
        lab.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_a_clock_that_was_ahead_before_sees_who_is_gone() {
    let (database, machine) = (Database::sqlite(), Machine::default());
    machine.jump(HOUR);
    let lab = Lab::clocked(&database, machine.clock()).await;
    let host = lab.host(lab.infra_env(None).await.id).await;
    lab.report_all(host, 1).await;
    lab.stop().await;

    machine.jump(-HOUR);
    let lab = Lab::clocked(&database, machine.clock()).await;
    eventually("its check-in is not of the future", async || {
        let stored = lab.store.host(host, Deleted::Hidden).await.unwrap().unwrap();
        let ahead = stored.checked_in_at.unwrap().duration_since(Timestamp::now());
        (ahead < SignedDuration::from_mins(1)).then_some(()).ok_or(format!("{ahead} ahead"))
    })
    .await;
    lab.stop().await;
}
