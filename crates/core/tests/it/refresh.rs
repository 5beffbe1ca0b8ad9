//! Every transition of a refresh.

use assisted_core::decide::refresh::tables;
use assisted_core::model::report::ReportKind;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::step::StepType;
use jiff::SignedDuration;
use serde_json::json;

use crate::world::{
    World, cluster, connectivity, free_addresses, inventory, names, poor_inventory, single_node,
};

#[test]
fn a_host_of_a_pool() {
    let mut world = World::new(None);
    world.register(1).unwrap();
    let first = world.refresh();
    assert_eq!(world.status(1), HostStatus::DiscoveringUnbound);
    assert!(first.events.is_empty(), "the first results are no change: {:?}", first.events);
    assert!(!world.find(1).unwrap().report(ReportKind::ValidationsInfo).is_empty());

    world.reply(1, StepType::Inventory, &poor_inventory(1)).unwrap();
    let poor = world.refresh();
    assert_eq!(world.status(1), HostStatus::InsufficientUnbound);
    let info = &world.host(1).status_info;
    assert!(info.starts_with("Host does not meet the minimum hardware requirements: "), "{info}");
    assert!(names(&poor.events).contains(&"host_validation_failed"));
    assert!(names(&poor.events).contains(&"host_status_updated"));

    world.reply(1, StepType::Inventory, &inventory(1)).unwrap();
    let good = world.refresh();
    assert_eq!(world.status(1), HostStatus::KnownUnbound);
    assert_eq!(world.host(1).status_info, "Host is ready to be bound to a cluster");
    assert!(names(&good.events).contains(&"host_validation_fixed"));
    let told = good.events.iter().find(|event| event.name == "host_status_updated").unwrap();
    assert_eq!(
        told.message,
        "Host node-1: updated status from insufficient-unbound to known-unbound (Host is ready to be bound to a cluster)"
    );
}

#[test]
fn silence() {
    for record in [None, Some(single_node())] {
        let mut world = World::new(record);
        world.bring(1);
        let bootstrap = world.host(1).bootstrap;
        let outcome = world.refresh();
        let awake = world.status(1);
        let limit = 180 + if bootstrap { 120 } else { 0 };
        let due = world.find(1).unwrap().checked_in_at + SignedDuration::from_secs(limit);
        assert_eq!(outcome.next_check, Some(due + SignedDuration::from_millis(1)));

        world.wait(limit);
        assert!(world.refresh().hosts.is_empty(), "the limit itself is in time");
        world.facts.now = outcome.next_check.unwrap();
        let silent = world.refresh();
        assert!(world.status(1).as_str().starts_with("disconnected"));
        assert_eq!(world.host(1).status_info, "Host has stopped communicating with the installation service");
        assert_eq!(silent.next_check, None, "only a sign of life brings it back");

        world.poll(1);
        world.refresh();
        assert_eq!(world.status(1), awake);
    }
}

#[test]
fn a_single_node_becomes_known_and_its_cluster_ready() {
    let mut world = World::new(Some(single_node()));
    world.bring(1);
    let outcome = world.refresh();
    assert_eq!(world.status(1), HostStatus::Known, "{}", world.host(1).status_info);
    let cluster = &world.facts.cluster.as_ref().unwrap().cluster;
    assert_eq!(cluster.status, ClusterStatus::Ready, "{}", cluster.validations_info);
    assert_eq!(cluster.status_info, "Cluster ready to be installed");
    assert!(cluster.schedulable_masters_forced_true);
    let networks = cluster.machine_networks.as_ref().unwrap();
    assert_eq!(networks[0].cidr.0, "192.168.124.0/22", "worked out from the only network");
    assert!(names(&outcome.events).contains(&"cluster_status_updated"));
}

#[test]
fn a_cluster_waits_for_input() {
    let mut world = World::new(Some(cluster(&json!({}))));
    world.refresh();
    let record = world.facts.cluster.as_ref().unwrap();
    assert_eq!(record.cluster.status, ClusterStatus::PendingForInput);
    assert_eq!(record.cluster.status_info, "User input required");

    world.bring(1);
    world.refresh();
    assert_eq!(world.status(1), HostStatus::PendingForInput);
    assert!(
        world.host(1).status_info.starts_with("Waiting for user input: "),
        "{}",
        world.host(1).status_info
    );

    let record = world.facts.cluster.as_mut().unwrap();
    record.cluster.api_vips = serde_json::from_value(json!([{"ip": "192.168.124.3"}])).unwrap();
    record.cluster.ingress_vips = serde_json::from_value(json!([{"ip": "192.168.124.4"}])).unwrap();
    world.refresh();
    assert_eq!(world.status(1), HostStatus::Insufficient);
    assert!(
        world
            .host(1)
            .status_info
            .starts_with("Host cannot be installed due to following failing validation(s)")
    );
    let record = world.facts.cluster.as_ref().unwrap();
    assert_eq!(record.cluster.status, ClusterStatus::Insufficient);
    assert_eq!(record.cluster.machine_networks.as_ref().unwrap()[0].cidr.0, "192.168.124.0/22");
}

#[test]
fn the_weakest_hosts_become_masters() {
    let mut world = World::new(Some(cluster(&json!({}))));
    for number in 1..=5 {
        world.register(number).unwrap();
        world.poll(number);
    }
    for number in 1..=4 {
        let mut machine = inventory(number);
        machine["cpu"]["count"] = json!(20 - 2 * i64::from(number));
        world.reply(number, StepType::Inventory, &machine).unwrap();
    }
    world.refresh();
    let roles =
        |world: &World| (1..=5).map(|number| world.host(number).suggested_role.unwrap()).collect::<Vec<_>>();
    assert_eq!(roles(&world), [HostRole::AutoAssign; 5], "one has not told its inventory");

    let mut gpu = inventory(5);
    gpu["cpu"]["count"] = json!(8);
    gpu["gpus"] = json!([{"vendor": "v"}]);
    world.reply(5, StepType::Inventory, &gpu).unwrap();
    let outcome = world.refresh();
    let (master, worker) = (HostRole::Master, HostRole::Worker);
    assert_eq!(roles(&world), [worker, master, master, master, worker]);
    let told = names(&outcome.events).into_iter().filter(|name| *name == "host_role_updated").count();
    assert_eq!(told, 5);

    world.register(6).unwrap();
    world.refresh();
    assert_eq!(roles(&world), [HostRole::AutoAssign; 5], "a new host opens the question again");
}

#[test]
fn media() {
    let mut world = World::new(Some(cluster(&json!({}))));
    world.bring(1);
    world.refresh();
    let lost = assisted_wire::step::StepReply {
        step_type: Some(StepType::NtpSynchronizer),
        exit_code: 256,
        ..Default::default()
    };
    let effect = world.answer(1, &lost).unwrap();
    assert_eq!(names(&effect.decision.events), ["host_status_updated", "host_media_disconnected"]);
    assert!(world.host(1).status_info.starts_with("Unable to read from the discovery media."));
    assert!(world.answer(1, &lost).unwrap().decision.is_empty(), "told once");
    world.refresh();
    assert_eq!(world.status(1), HostStatus::Disconnected);
    world.reply(1, StepType::Inventory, &inventory(1)).unwrap();
    world.refresh();
    assert_eq!(world.status(1), HostStatus::PendingForInput);
}

#[test]
fn tables_are_printed() {
    for table in tables() {
        assert!(table.to_markdown().lines().count() > 2, "{}", table.title);
        assert!(table.to_mermaid().starts_with("stateDiagram-v2\n"));
    }
}

#[test]
fn three_hosts_that_reach_each_other_make_a_cluster_ready() {
    let mut world = World::new(Some(cluster(&json!({
        "api_vips": [{"ip": "192.168.124.3"}], "ingress_vips": [{"ip": "192.168.124.4"}],
    }))));
    for number in 1..=3 {
        world.bring(number);
        world.refresh();
    }
    assert_eq!(world.status(1), HostStatus::Insufficient, "nobody knows whether they reach each other");
    for number in 1..=3 {
        world.reply(number, StepType::ConnectivityCheck, &connectivity(number, 1..=3)).unwrap();
        world.reply(number, StepType::FreeNetworkAddresses, &free_addresses()).unwrap();
    }
    let outcome = world.refresh();
    for number in 1..=3 {
        assert_eq!(world.status(number), HostStatus::Known, "{}", world.host(number).status_info);
        assert_eq!(world.host(number).suggested_role, Some(HostRole::Master));
    }
    let record = &world.facts.cluster.as_ref().unwrap().cluster;
    assert_eq!(record.status, ClusterStatus::Ready, "{}", record.validations_info);
    let told = names(&outcome.events);
    assert_eq!(told.iter().filter(|name| **name == "host_status_updated").count(), 3);
    assert_eq!(told.iter().filter(|name| **name == "cluster_status_updated").count(), 1);

    world.wait(100);
    world.poll(1);
    world.poll(2);
    world.wait(100);
    world.refresh();
    assert_eq!(world.status(3), HostStatus::Disconnected);
    assert_eq!(world.facts.cluster.as_ref().unwrap().cluster.status, ClusterStatus::Insufficient);
}
