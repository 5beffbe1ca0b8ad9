//! Clusters of each topology are discovered until they could be installed.

use std::collections::BTreeMap;
use std::time::Duration;

use assisted_simhost::drive::{self, Target};
use assisted_simhost::plan::{Goal, Plan};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::topology::Topology;

use crate::service::Server;

/// No simulation here takes longer than seconds; one that hangs must end.
const LIMIT: Duration = Duration::from_secs(120);
const SPEED: f64 = 600.0;

/// A simulation until the clusters are ready, and what the service refused meanwhile.
async fn discover(
    topology: Topology,
    clusters: u32,
    hosts: u32,
    fault: Option<&str>,
) -> (Vec<ClusterResult>, BTreeMap<String, u64>) {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), None).await;
    let target = Target::new(server.address);
    let mut plan = Plan::new(topology, clusters, hosts, SPEED).unwrap();
    plan.goal = Goal::Ready;
    plan.version = target.default_version().await.unwrap();
    plan.faults = fault.map(|fault| fault.parse().unwrap()).into_iter().collect();
    let mut simulation = Simulation::new(plan);
    let now = drive::run(&mut simulation, &target, LIMIT, |_, _| true).await.unwrap();
    server.stop().await;
    (simulation.results(now), simulation.refusals().clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_topology_becomes_ready() {
    // Two nodes with fencing are refused unless the service is told to take them.
    for topology in Topology::ALL.iter().copied().filter(|topology| *topology != Topology::Tnf) {
        let (results, refusals) = discover(topology, 2, topology.usual_hosts(), None).await;
        assert!(results.iter().all(|result| result.as_expected), "{topology}: {results:#?} {refusals:?}");
        assert!(refusals.is_empty(), "{topology}: {refusals:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_replies_do_no_harm() {
    for fault in ["double", "delay", "wrong-type"] {
        let (results, refusals) = discover(Topology::Compact, 2, 3, Some(fault)).await;
        assert!(results.iter().all(|result| result.as_expected), "{fault}: {results:#?} {refusals:?}");
        assert_eq!(refusals.is_empty(), fault != "wrong-type", "{fault}: {refusals:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_clock_keeps_the_cluster_from_being_ready() {
    let (results, refusals) = discover(Topology::Compact, 1, 3, Some("clock")).await;
    assert!(results[0].as_expected, "{results:#?} {refusals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_service_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), None).await;
    let address = server.address;
    let target = Target::new(address);
    let mut plan = Plan::new(Topology::Compact, 1, 3, SPEED).unwrap();
    plan.goal = Goal::Ready;
    plan.version = target.default_version().await.unwrap();
    let mut simulation = Simulation::new(plan);
    let (registered, first_host) = tokio::sync::oneshot::channel();
    let mut registered = Some(registered);
    let restart = async {
        first_host.await.unwrap();
        server.stop().await;
        Server::start(dir.path(), Some(address)).await
    };
    let run = drive::run(&mut simulation, &target, LIMIT, |simulation, _| {
        if simulation.looks().any(|(_, look)| !look.hosts.is_empty())
            && let Some(registered) = registered.take()
        {
            registered.send(()).unwrap();
        }
        true
    });
    let (now, server) = tokio::join!(run, restart);
    let results = simulation.results(now.unwrap());
    assert!(results[0].as_expected, "{results:#?} {:?}", simulation.refusals());
    server.stop().await;
}
