//! Whether an installation can still succeed (state-machines §3.7).

use assisted_wire::cluster::Cluster;
use assisted_wire::host::{HostRole, HostStatus};

use crate::model::facts::HostFacts;
use crate::model::topology;

/// Masters that make a control plane.
const MASTERS: usize = 3;

/// Masters that make one together with an arbiter, or with fencing.
const MASTERS_OF_TWO: usize = 2;

/// Workers without which a cluster that has them is of no use.
const WORKERS: usize = 2;

/// Whether the hosts in some states suffice: every control-plane node, and two workers if there are as many.
///
/// Who is in a state is counted by the role that counts; who is expected, by the role that was asked for.
pub fn has_quorum(cluster: &Cluster, hosts: &[HostFacts], states: &[HostStatus]) -> bool {
    let in_state = |wanted: fn(HostRole) -> bool| {
        let hosts = hosts.iter().filter(|host| states.contains(&host.record.host.status));
        hosts.filter(|host| wanted(host.effective_role())).count()
    };
    let expected = |wanted: fn(HostRole) -> bool| {
        hosts.iter().filter(|host| host.record.host.role.is_some_and(wanted)).count()
    };
    let (masters, workers) = (in_state(is_master), in_state(is_worker));
    if topology::is_single_node(cluster) {
        return masters == 1 && workers == 0;
    }
    let with_arbiter = expected(is_arbiter) > 0;
    if with_arbiter && in_state(is_arbiter) == 0 {
        return false;
    }
    let least = if with_arbiter || topology::is_two_nodes_with_fencing(cluster, hosts) {
        MASTERS_OF_TWO
    } else {
        MASTERS
    };
    let all_masters = expected(is_master) >= least && masters >= expected(is_master);
    all_masters && (expected(is_worker) < WORKERS || workers >= WORKERS)
}

fn is_master(role: HostRole) -> bool {
    matches!(role, HostRole::Master | HostRole::Bootstrap)
}

fn is_arbiter(role: HostRole) -> bool {
    role == HostRole::Arbiter
}

fn is_worker(role: HostRole) -> bool {
    role == HostRole::Worker
}
