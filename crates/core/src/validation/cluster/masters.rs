//! `sufficient-masters-count`: as many control plane nodes as the cluster is to have.

use assisted_wire::host::HostRole;

use super::View;
use crate::model::outcome::Outcome;
use crate::validation::host::fits_role;

/// How many hosts play, or will play, each role.
#[derive(Default)]
struct RoleCounts {
    masters: i64,
    arbiters: i64,
    workers: i64,
}

pub(super) fn check(view: &View<'_>) -> Outcome {
    let wanted = view.cluster.control_plane_count;
    let RoleCounts { masters, arbiters, workers } = count(view, wanted);
    let measured = format!("{masters} control plane nodes, {arbiters} arbiters, {workers} workers");
    let alone = wanted == 2 && arbiters == 0 && !view.scope.two_nodes_with_fencing;
    if masters == wanted && !alone && !(view.single_node && workers > 0) {
        return Outcome::success("The cluster has the exact amount of dedicated control plane nodes.")
            .measured(measured);
    }
    let outcome = if view.single_node {
        Outcome::failure("Single-node clusters must have a single control plane node and no workers.")
    } else {
        let suffix = if alone {
            " and at least 1 arbiter node or the control plane nodes must have fencing credentials"
        } else {
            ""
        };
        Outcome::failure(format!(
            "The cluster must have exactly {wanted} dedicated control plane nodes{suffix}. Add or remove hosts, or \
             change their roles configurations to meet the requirement."
        ))
    };
    outcome
        .measured(measured)
        .required(format!("{wanted} control plane nodes"))
        .remedy("Discover more machines, remove some, or change their roles.")
}

/// Hosts whose role nobody decided upon yet fill the places that are left, in order.
fn count(view: &View<'_>, wanted: i64) -> RoleCounts {
    let mut count = RoleCounts::default();
    let mut open = Vec::new();
    for host in &view.facts.hosts {
        match host.effective_role() {
            HostRole::Master | HostRole::Bootstrap => count.masters += 1,
            HostRole::Arbiter => count.arbiters += 1,
            HostRole::Worker => count.workers += 1,
            HostRole::AutoAssign => open.push(host),
        }
    }
    for host in open {
        if count.masters < wanted && fits_role(view.scope, host, HostRole::Master) {
            count.masters += 1;
        } else if wanted == 2 && count.arbiters == 0 && fits_role(view.scope, host, HostRole::Arbiter) {
            count.arbiters += 1;
        } else {
            count.workers += 1;
        }
    }
    count
}
