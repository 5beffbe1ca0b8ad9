//! What a host's rules ask of its cluster, worked out once per look.

use std::sync::Arc;
use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostStatus;
use jiff::Timestamp;

use crate::layering::input::Input;
use crate::model::facts::Facts;
use crate::model::topology;
use crate::policy::Policy;
use crate::state::cluster::quorum::has_quorum;
use crate::state::cluster::timeouts;

/// What putting an image onto a disk takes beside building it, in minutes.
const MARGIN_MINUTES: u64 = 30;

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
            policy: policy(facts),
            now: facts.now,
        }
    }
}

/// The policy; where images are built first, hosts wait for them in two stages (ocl-day1 §B10.2).
fn policy(facts: &Facts) -> Arc<Policy> {
    let Some(input) = Input::of(facts) else { return Arc::clone(&facts.policy) };
    // Workers wait for both images, one after the other.
    let minutes =
        input.pools().len() as u64 * u64::from(input.settings.build_timeout_minutes()) + MARGIN_MINUTES;
    let more = Duration::from_secs(minutes * 60);
    let mut policy = Policy::clone(&facts.policy);
    let stages = &mut policy.host_stages;
    for limit in [&mut stages.waiting_for_control_plane, &mut stages.writing_image_to_disk] {
        *limit = limit.saturating_add(more);
    }
    Arc::new(policy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::layering::tests::{enabled, layered, objects};

    #[test]
    fn hosts_wait_longer_for_images() {
        let plain = ClusterContext::of(&layered(&json!({}), &objects())).policy;
        let longer = ClusterContext::of(&layered(&enabled(), &objects())).policy;
        let more = Duration::from_secs((2 * 90 + 30) * 60);
        assert_eq!(longer.host_stages.writing_image_to_disk, plain.host_stages.writing_image_to_disk + more);
        assert_eq!(
            longer.host_stages.waiting_for_control_plane,
            plain.host_stages.waiting_for_control_plane + more
        );
        assert_eq!(longer.host_stages.rebooting, plain.host_stages.rebooting);
    }
}
