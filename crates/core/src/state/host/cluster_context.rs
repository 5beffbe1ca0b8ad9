//! What a host's rules ask of its cluster, worked out once per look.

use std::sync::Arc;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use jiff::Timestamp;

use crate::model::facts::Facts;
use crate::model::topology;
use crate::policy::Policy;
use crate::state::cluster::quorum::has_quorum;
use crate::state::cluster::timeouts;

/// A host's cluster, settings, and the moment.
#[derive(Clone, Debug)]
pub struct ClusterContext {
    /// The cluster's state; `None`: the host is in a pool.
    pub cluster_status: Option<ClusterStatus>,
    /// Whether the cluster consists of one node.
    pub is_single_node: bool,
    /// Whether time limits only warn.
    pub soft_timeouts: bool,
    /// Whether the installed hosts are enough without those that wait for a person. Worked out only when some wait.
    pub would_succeed: bool,
    pub policy: Arc<Policy>,
    pub now: Timestamp,
}

impl ClusterContext {
    /// Reads them out of the facts.
    pub fn of(facts: &Facts) -> Self {
        let cluster = facts.cluster.as_ref().map(|record| &record.cluster);
        let waits = |status: HostStatus| facts.hosts.iter().any(|host| host.record.host.status == status);
        let would_succeed =
            || cluster.is_some_and(|cluster| has_quorum(cluster, &facts.hosts, &[HostStatus::Installed]));
        Self {
            cluster_status: cluster.map(|cluster| cluster.status),
            is_single_node: cluster.is_some_and(topology::is_single_node),
            soft_timeouts: cluster.is_some_and(|cluster| timeouts::are_soft(cluster, &facts.policy)),
            would_succeed: waits(HostStatus::InstallingPendingUserAction) && would_succeed(),
            policy: Arc::clone(&facts.policy),
            now: facts.now,
        }
    }
}
