//! A look goes by what the last one has found of hosts that are as they were, and finds what one finds that validates them all.

use assisted_core::decide::refresh::refresh;
use assisted_wire::host::HostStatus;
use assisted_wire::operator::{MonitoredOperator, OperatorType};
use assisted_wire::step::StepType;
use serde_json::json;

use crate::world::{World, connectivity, inventory, key, poor_inventory, several};

const HOSTS: u16 = 6;

/// A cluster that is ready, and whose hosts are all known to pass.
fn world() -> World {
    let mut world = World::ready(several(&json!({})), HOSTS);
    world.look();
    assert_eq!(world.passed.len(), usize::from(HOSTS));
    world
}

/// What of the hosts is known after a change and the look that follows, which finds what it finds without that.
#[track_caller]
fn known_after(change: impl Fn(&mut World)) -> usize {
    let mut world = world();
    change(&mut world);
    let expected = refresh(&world.facts);
    assert_eq!(world.look(), expected);
    world.passed.len()
}

#[test]
fn hosts_that_are_as_they_were_are_not_validated_again() {
    assert_eq!(known_after(|_| {}), usize::from(HOSTS));
    let others = usize::from(HOSTS) - 1;
    let known = known_after(|world| {
        world.reply(HOSTS, StepType::Inventory, &poor_inventory(HOSTS)).unwrap();
    });
    assert_eq!(known, others, "what fails is not kept: its text counts");
    let known = known_after(|world| {
        let place = world.position(HOSTS);
        world.facts.hosts[place].record.host.requested_hostname = "localhost".to_owned();
    });
    assert_eq!(known, others, "what is not stored has no revision");
    let known = known_after(|world| {
        let mut machine = inventory(HOSTS);
        machine["hostname"] = json!("node-5");
        world.reply(HOSTS, StepType::Inventory, &machine).unwrap();
    });
    assert_eq!(known, others - 1, "both of two that share a name fail");
}

#[test]
fn a_host_that_changed_is_judged_anew_and_passes_again() {
    let mut world = world();
    world.reply(1, StepType::Inventory, &poor_inventory(1)).unwrap();
    world.refresh();
    assert_eq!((world.status(1), world.status(2)), (HostStatus::Insufficient, HostStatus::Known));
    world.reply(1, StepType::Inventory, &inventory(1)).unwrap();
    world.refresh();
    assert_eq!((world.status(1), world.status(2)), (HostStatus::Known, HostStatus::Known));
    world.look();
    assert_eq!(world.passed.len(), usize::from(HOSTS));
}

#[test]
fn a_host_that_is_not_heard_does_not_pass() {
    let mut world = world();
    world.wait(120);
    for number in 2..=HOSTS {
        world.poll(number);
    }
    world.wait(120);
    world.refresh();
    assert_eq!((world.status(1), world.status(2)), (HostStatus::Disconnected, HostStatus::Known));
}

#[test]
fn what_all_hosts_are_judged_by_counts() {
    let of_cluster = |change: fn(&mut assisted_wire::cluster::Cluster)| {
        known_after(|world| change(&mut world.facts.cluster.as_mut().unwrap().cluster))
    };
    let all = usize::from(HOSTS);
    assert_eq!(of_cluster(|cluster| cluster.status_info = "other".to_owned()), all);
    assert_eq!(
        of_cluster(|cluster| cluster.name = "other".to_owned()),
        0,
        "each has to write its results anew"
    );
    assert_eq!(of_cluster(|cluster| cluster.connectivity_majority_groups.clear()), 0);
    let operator = |cluster: &mut assisted_wire::cluster::Cluster| {
        let lvm = MonitoredOperator {
            name: "lvm".to_owned(),
            operator_type: Some(OperatorType::Olm),
            ..MonitoredOperator::default()
        };
        cluster.monitored_operators.get_or_insert_default().push(lvm);
    };
    assert_eq!(of_cluster(operator), 0, "operators look at all hosts together");
    let without_sources = |world: &mut World| {
        let infra_env = world.facts.infra_envs.values_mut().next().unwrap();
        infra_env.infra_env.ntp_sources.clear();
    };
    assert_eq!(known_after(without_sources), all, "they are validated anew, and pass");
    let one_less = |world: &mut World| world.facts.hosts.retain(|host| host.key() != key(HOSTS));
    assert_eq!(known_after(one_less), all - 1, "they are validated anew, and pass");
}

#[test]
fn a_host_that_is_judged_by_what_others_are_is_not_kept() {
    let known = known_after(|world| {
        let mut found = connectivity(1, 1..=HOSTS);
        found["remote_hosts"][HOSTS as usize - 2]["l3_connectivity"][0]["average_rtt_ms"] = json!(5_000.0);
        world.reply(1, StepType::ConnectivityCheck, &found).unwrap();
    });
    assert_eq!(known, usize::from(HOSTS) - 1);
}
