//! Each validation of a host: success, every failure, and what is said while something is not known yet.

mod evaluation;
mod hardware;
mod layering;
mod network;
mod olm;
mod operators;

use std::sync::Arc;

use assisted_wire::host::HostValidationId::{self as Id, *};
use assisted_wire::host::{HostKind, HostProgressInfo, HostRole, HostStage};

use super::evaluate;
use crate::model::facts::Facts;
use crate::model::outcome::Status;
use crate::policy::Policy;
use crate::validation::coverage;
use crate::validation::testing::{self, InventoryBuilder, explains_itself, facts, inventory, unbound};

/// What the API shows of a validation of the first host: status and message; `None`: nothing.
fn shown(facts: &Facts, id: Id) -> Option<(Status, String)> {
    let results = evaluate(facts, &facts.hosts[0]).unwrap();
    let recipe = coverage::recipe(id.as_str());
    let entry = results.get(id).unwrap_or_else(|| panic!("{id} was not evaluated ({recipe}, step 3)"));
    assert_eq!(entry.condition, matches!(entry.outcome.status, Status::Success | Status::Disabled), "{id}");
    coverage::see(id, &entry.outcome);
    explains_itself(id.as_str(), &entry.outcome);
    entry.shown.then(|| (entry.outcome.status, entry.outcome.message.to_string()))
}

#[track_caller]
fn success(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), Some((Status::Success, message.to_owned())));
}

#[track_caller]
fn failure(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), Some((Status::Failure, message.to_owned())));
}

#[track_caller]
fn pending(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), Some((Status::Pending, message.to_owned())));
}

#[track_caller]
fn error(facts: &Facts, id: Id, message: &str) {
    assert_eq!(shown(facts, id), Some((Status::Error, message.to_owned())));
}

#[track_caller]
fn suppressed(facts: &Facts, id: Id) {
    assert_eq!(shown(facts, id), None);
    assert!(evaluate(facts, &facts.hosts[0]).unwrap().condition(id));
}

/// A host of a three-node cluster with an inventory.
fn with(inventory: &InventoryBuilder) -> Facts {
    facts(1).with_inventory(inventory)
}

fn day2(facts: Facts) -> Facts {
    let mut facts =
        facts.with_cluster(|cluster| cluster.kind = assisted_wire::cluster::ClusterKind::AddHostsCluster);
    for host in &mut facts.hosts {
        host.record.host.kind = HostKind::AddToExistingClusterHost;
        host.record.host.role = Some(HostRole::Worker);
    }
    facts
}

fn user_managed(facts: Facts) -> Facts {
    facts.with_cluster(|cluster| cluster.user_managed_networking = Some(true))
}

fn single_node(facts: Facts) -> Facts {
    user_managed(facts).with_cluster(|cluster| cluster.control_plane_count = 1)
}

fn role(facts: Facts, role: HostRole) -> Facts {
    facts.with_host(|host| host.record.host.role = Some(role))
}

fn stage(facts: Facts, stage: HostStage) -> Facts {
    let progress = HostProgressInfo { current_stage: Some(stage), ..HostProgressInfo::default() };
    facts.with_host(|host| host.record.host.progress = Some(progress))
}

fn settings(facts: Facts, change: impl FnOnce(&mut Policy)) -> Facts {
    let mut policy = Policy::default();
    change(&mut policy);
    Facts { policy: Arc::new(policy), ..facts }
}

#[test]
fn every_outcome_is_hit() {
    coverage::check(
        include_str!("../../../../tests/data/outcomes/host.txt"),
        Id::ALL,
        &[ReleaseDomainNameResolvedCorrectly, OcsRequirementsSatisfied],
        &[
            hardware::inventories,
            hardware::cpu_cores,
            hardware::memory,
            hardware::disks,
            hardware::skipped_disks,
            hardware::host_names,
            hardware::platforms,
            hardware::vsphere_disks,
            hardware::agents,
            hardware::disk_encryption,
            layering::disks,
            layering::resources,
            network::connection,
            network::machine_networks,
            network::ignition,
            network::majority_groups,
            network::mtu,
            network::clocks,
            network::images,
            network::links,
            network::links_of_hosts_with_few_or_many_addresses,
            network::routes,
            network::domain_names,
            network::dns_wildcards,
            network::subnets,
            network::collisions,
            network::iscsi,
            olm::resources,
            olm::virtualization,
            olm::secure_boot,
            olm::the_others_ask_nothing,
            operators::not_installed,
            operators::logical_volumes,
            operators::data_foundation,
        ],
    );
}
