//! The OpenShift cluster that forms out of rebooted hosts: when each node asks for its Ignition, joins, is ready.

use std::time::Duration;

use assisted_wire::host::{HostRole, HostStage};
use assisted_wire::id::InfraEnvId;

use crate::random::Random;

/// From the start of the bootstrap's services until they serve Ignition and an API.
const BOOTSTRAP: Duration = Duration::from_secs(5 * 60);
/// From Ignition to a node object: the image of the release is pulled and booted.
const JOIN: Duration = Duration::from_secs(4 * 60);
/// From a node object to a ready node.
const READY: Duration = Duration::from_secs(90);
/// From the first ready control-plane node to a running controller.
const CONTROLLER: Duration = Duration::from_secs(60);

/// A host's way to a node.
#[derive(Clone, Copy, Debug)]
struct Node {
    role: HostRole,
    /// When it started from its disk.
    booted: Duration,
    joins_after: Duration,
    ready_after: Duration,
    /// The stage that someone reported for it last.
    reported: HostStage,
    /// The stage at which it stays for good.
    stuck: Option<HostStage>,
}

/// What is known inside one cluster. Hosts are named by their place in it.
#[derive(Debug, Default)]
pub struct Kube {
    nodes: Vec<Option<Node>>,
    /// When the bootstrap's services were started.
    bootstrap: Option<Duration>,
    single: bool,
    /// The controller has said that it is there.
    pub announced: bool,
    /// The infra-envs of hosts that have one of their own.
    infra_envs: Vec<InfraEnvId>,
}

impl Kube {
    /// An empty cluster of so many hosts.
    pub fn new(hosts: u32) -> Self {
        Self { nodes: vec![None; hosts as usize], single: hosts == 1, ..Self::default() }
    }

    /// The same, whose hosts have infra-envs of their own.
    pub fn with_infra_envs(self, infra_envs: &[InfraEnvId]) -> Self {
        Self { infra_envs: infra_envs.to_vec(), ..self }
    }

    /// The infra-env of a host: its own, or that of the cluster.
    pub fn infra_env(&self, place: u32, of_cluster: InfraEnvId) -> InfraEnvId {
        self.infra_envs.get(place as usize).copied().unwrap_or(of_cluster)
    }

    /// The bootstrap host has started its services.
    pub fn bootstrap_started(&mut self, now: Duration) {
        self.bootstrap.get_or_insert(now);
    }

    /// A host has started from its disk. It gets no further than `stuck`.
    pub fn booted(
        &mut self,
        place: u32,
        role: HostRole,
        now: Duration,
        stuck: Option<HostStage>,
        random: &mut Random,
    ) {
        let node = Node {
            role,
            booted: now,
            joins_after: random.about(JOIN),
            ready_after: random.about(READY),
            reported: HostStage::Rebooting,
            stuck,
        };
        if let Some(known) = self.nodes.get_mut(place as usize) {
            known.get_or_insert(node);
        }
    }

    /// When the cluster's API came up.
    fn up(&self) -> Option<Duration> {
        Some(self.bootstrap? + BOOTSTRAP)
    }

    /// How far a node has come.
    fn stage(&self, node: &Node, now: Duration) -> HostStage {
        let Some(ignition) = self.up().map(|up| up.max(node.booted)) else { return HostStage::Rebooting };
        let join = ignition + node.joins_after;
        let reached = if now < ignition {
            HostStage::Rebooting
        } else if now < join {
            HostStage::Configuring
        } else if now < join + node.ready_after {
            HostStage::Joined
        } else {
            HostStage::Done
        };
        match node.stuck {
            Some(stuck) if order(stuck) < order(reached) => stuck,
            _ => reached,
        }
    }

    fn ready(&self, now: Duration) -> impl Iterator<Item = &Node> {
        self.nodes.iter().flatten().filter(move |node| self.stage(node, now) == HostStage::Done)
    }

    /// Whether as many control-plane nodes are ready as the bootstrap host waits for.
    pub fn control_plane_ready(&self, masters: u32, arbiters: u32, now: Duration) -> bool {
        let count = |role| self.ready(now).filter(|node| node.role == role).count();
        count(HostRole::Master) >= masters.saturating_sub(1).min(2) as usize
            && count(HostRole::Arbiter) >= arbiters.min(1) as usize
    }

    /// Whether the controller runs.
    pub fn has_controller(&self, now: Duration) -> bool {
        let ago = now.saturating_sub(CONTROLLER);
        self.ready(ago).any(|node| node.role != HostRole::Worker)
    }

    /// A host and the stage that the bootstrap host would tell of it next, as it sees ready nodes, and requests in the
    /// log of the server of machine configs.
    pub fn seen_by_bootstrap(&mut self, now: Duration) -> Option<(u32, HostStage)> {
        self.next_transition(now, |node, reached| match reached {
            HostStage::Configuring if node.role == HostRole::Worker => HostStage::WaitingForIgnition,
            HostStage::Done => HostStage::Joined,
            // A node that is not ready yet is not looked at.
            HostStage::Joined => HostStage::Configuring,
            other => other,
        })
    }

    /// A host and the stage that the controller would tell of it next.
    pub fn seen_by_controller(&mut self, now: Duration) -> Option<(u32, HostStage)> {
        let single = self.single;
        self.next_transition(now, |node, reached| match reached {
            // A single node gets its configuration from its own disk: nobody sees it ask.
            HostStage::Configuring if single => HostStage::Rebooting,
            HostStage::Done if order(node.reported) < order(HostStage::Joined) => HostStage::Joined,
            other => other,
        })
    }

    fn next_transition(
        &mut self,
        now: Duration,
        told: impl Fn(&Node, HostStage) -> HostStage,
    ) -> Option<(u32, HostStage)> {
        let transition = self.nodes.iter().enumerate().find_map(|(place, node)| {
            let node = node.as_ref()?;
            let stage = told(node, self.stage(node, now));
            (order(stage) > order(node.reported)).then_some((place, stage))
        });
        let (place, stage) = transition?;
        if let Some(node) = self.nodes.get_mut(place)?.as_mut() {
            node.reported = stage;
        }
        Some((u32::try_from(place).ok()?, stage))
    }
}

/// Where a stage stands on a node's way.
fn order(stage: HostStage) -> u8 {
    match stage {
        HostStage::WaitingForIgnition => 1,
        HostStage::Configuring => 2,
        HostStage::Joined => 3,
        HostStage::Done => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    fn transitions(
        kube: &mut Kube,
        now: Duration,
        look: fn(&mut Kube, Duration) -> Option<(u32, HostStage)>,
    ) -> Vec<(u32, HostStage)> {
        std::iter::from_fn(|| look(kube, now)).collect()
    }

    #[test]
    fn nodes_wait_for_the_bootstrap_and_are_told_of_once() {
        let mut kube = Kube::new(3);
        let mut random = Random::new(1);
        kube.booted(1, HostRole::Master, minutes(1), None, &mut random);
        assert_eq!(transitions(&mut kube, minutes(60), Kube::seen_by_bootstrap), []);
        kube.bootstrap_started(minutes(60));
        assert_eq!(
            transitions(&mut kube, minutes(66), Kube::seen_by_bootstrap),
            [(1, HostStage::Configuring)]
        );
        assert_eq!(transitions(&mut kube, minutes(66), Kube::seen_by_bootstrap), []);
        assert!(!kube.control_plane_ready(3, 0, minutes(90)), "two masters are waited for");
        assert!(kube.control_plane_ready(2, 0, minutes(90)));
        assert_eq!(transitions(&mut kube, minutes(90), Kube::seen_by_bootstrap), [(1, HostStage::Joined)]);
        assert!(kube.has_controller(minutes(90)));
        assert_eq!(transitions(&mut kube, minutes(90), Kube::seen_by_controller), [(1, HostStage::Done)]);
    }

    #[test]
    fn the_controller_tells_both_stages_of_a_node_that_is_suddenly_ready() {
        let mut kube = Kube::new(1);
        kube.bootstrap_started(minutes(0));
        kube.booted(0, HostRole::Master, minutes(10), None, &mut Random::new(1));
        assert_eq!(transitions(&mut kube, minutes(11), Kube::seen_by_controller), []);
        assert_eq!(
            transitions(&mut kube, minutes(40), Kube::seen_by_controller),
            [(0, HostStage::Joined), (0, HostStage::Done)]
        );
    }

    #[test]
    fn a_node_that_is_stuck_gets_no_further() {
        let mut kube = Kube::new(3);
        kube.bootstrap_started(minutes(0));
        kube.booted(0, HostRole::Master, minutes(10), Some(HostStage::Joined), &mut Random::new(1));
        assert_eq!(transitions(&mut kube, minutes(90), Kube::seen_by_controller), [(0, HostStage::Joined)]);
        assert!(!kube.has_controller(minutes(90)));
    }
}
