//! Whole installations in simulated time: every role's stages come in an order that a service accepts, nobody waits for
//! ever, and the same seed gives the same story.

use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::topology::Topology;

use crate::model::Model;

fn install(
    topology: Topology,
    clusters: u32,
    hosts: u32,
    fault: Option<&str>,
    seed: u64,
) -> (Model, Vec<ClusterResult>) {
    let mut plan = Plan::new(Shape { hosts, ..Shape::of(topology) }, clusters, 60.0).unwrap();
    plan.version = "4.20".to_owned();
    plan.seed = seed;
    plan.faults = fault.map(|fault| fault.parse().unwrap()).into_iter().collect();
    let mut simulation = Simulation::new(plan);
    let mut model = Model::default();
    let now = model.run(&mut simulation);
    (model, simulation.results(now))
}

#[test]
fn every_topology_is_installed() {
    for topology in Topology::ALL.iter().copied() {
        let (model, results) = install(topology, 5, topology.usual_hosts(), None, 1);
        assert!(results.iter().all(|result| result.as_expected), "{topology}: {results:#?}");
        assert_eq!(model.refused, [""; 0], "{topology}");
    }
}

#[test]
fn many_workers_are_installed() {
    let (model, results) = install(Topology::Ha, 1, 103, None, 1);
    assert!(results[0].as_expected, "{results:#?}");
    assert_eq!(model.refused, [""; 0]);
}

#[test]
fn faults_end_as_they_are_to() {
    for fault in
        ["fail", "fail@installing", "double", "delay", "disorder", "slow-disk", "wrong-boot", "wrong-type"]
    {
        for topology in [Topology::Sno, Topology::Compact] {
            let (_, results) = install(topology, 3, topology.usual_hosts(), Some(fault), 1);
            assert!(results.iter().all(|result| result.as_expected), "{fault}: {results:#?}");
        }
    }
}

#[test]
fn a_dead_host_keeps_its_cluster_from_ending() {
    for stage in ["writing-image-to-disk", "rebooting", "configuring", "joined"] {
        let (_, results) = install(Topology::Compact, 2, 3, Some(&format!("die@{stage}")), 1);
        // The model has no time limits.
        assert!(results.iter().all(|result| result.trouble.is_some()), "{stage}: {results:#?}");
    }
}

#[test]
fn a_seed_gives_one_story() {
    let story = |seed| install(Topology::Ha, 2, 5, Some("delay"), seed).0.log;
    assert_eq!(story(7), story(7));
    assert_ne!(story(7), story(8));
}
