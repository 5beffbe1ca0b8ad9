//! Looks at a cluster again: what is derived from its hosts, validations, then the table.

use assisted_wire::cluster::ClusterValidationId;

use super::record::ClusterRecord;
use super::transition::{DESCRIBED, REFRESH};
use crate::event::{NewEvent, catalogue};
use crate::facts::Facts;
use crate::machine::choose;
use crate::network::{collision, connectivity, machine};
use crate::validation::cluster::evaluate;
use crate::validation::{Change, ChangeKind, diff, topology};

/// Works out what validations of hosts need to know of the cluster: machine networks, groups, collisions.
pub(crate) fn derive(facts: &mut Facts) -> bool {
    let Some(record) = &facts.cluster else { return false };
    if !DESCRIBED.contains(&record.cluster.status) {
        return false;
    }
    let now = facts.now;
    let networks = machine::automatic(facts);
    let groups = connectivity::majority_groups(facts);
    let collisions = collision::ip_collisions(facts);
    let Some(record) = &mut facts.cluster else { return false };
    let before = record.clone();
    if let Some(networks) = networks {
        record.cluster.machine_networks = Some(networks);
        record.machine_network_cidr_updated_at = Some(now);
    }
    record.cluster.connectivity_majority_groups = groups;
    record.cluster.ip_collisions = collisions;
    before != *record
}

/// Looks at the cluster again; whether it changed.
pub(crate) fn refresh(facts: &mut Facts, events: &mut Vec<NewEvent>) -> bool {
    if facts.cluster.is_none() {
        return false;
    }
    let results = evaluate(facts);
    let (now, hosts) = (facts.now, &facts.hosts);
    let Some(record) = &mut facts.cluster else { return false };
    let before = record.clone();
    record.cluster.schedulable_masters_forced_true =
        topology::masters_schedulable_forced(&record.cluster, hosts);

    let info = results.to_info();
    if !results.is_empty() && info != record.cluster.validations_info {
        let changes = diff(&record.cluster.validations_info, &results);
        events.extend(changes.iter().filter_map(|change| event(record, change)));
        record.cluster.validations_info = info;
    }
    let status = record.cluster.status;
    let rule = choose(REFRESH, &status, &|condition| condition.holds(record, &results));
    if let Some((to, info)) = rule.and_then(|rule| Some((rule.to?, rule.info?))) {
        info.clone_into(&mut record.cluster.status_info);
        if to != status {
            record.cluster.status = to;
            record.cluster.status_updated_at = now.into();
            let values: &[(&str, &dyn std::fmt::Display)] =
                &[("cluster_status", &to), ("status_info", &info)];
            events.push(catalogue::CLUSTER_STATUS_UPDATED.of_cluster(record.cluster.id, values));
        }
    }
    before != *record
}

fn event(record: &ClusterRecord, change: &Change<ClusterValidationId>) -> Option<NewEvent> {
    let (id, validation) = (record.cluster.id, change.id);
    if let Some(failure) = change.failure_message() {
        let values: &[(&str, &dyn std::fmt::Display)] =
            &[("validation_id", &validation), ("failure_message", &failure)];
        return Some(catalogue::CLUSTER_VALIDATION_FAILED.of_cluster(id, values));
    }
    (change.kind == ChangeKind::Fixed)
        .then(|| catalogue::CLUSTER_VALIDATION_FIXED.of_cluster(id, &[("validation_id", &validation)]))
}
