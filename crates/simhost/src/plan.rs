//! The plan of a simulation: clusters, their shapes, faults and speed.

use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::HostRole;
use assisted_wire::id::{ClusterId, InfraEnvId};

use crate::fault::{Fault, FaultTarget, Faults};
use crate::network::{Network, Platform};
use crate::random::Random;
use crate::topology::{Build, Topology};
use crate::world::{Needs, Site};

/// A pull secret that satisfies the service's rules; with it nothing can be pulled.
pub const PULL_SECRET: &str =
    r#"{"auths":{"cloud.openshift.com":{"auth":"c2ltOnNpbQ=="},"quay.io":{"auth":"c2ltOnNpbQ=="}}}"#;

/// Simulated time after which a cluster that does not change is taken to stay as it is.
const SETTLE: Duration = Duration::from_secs(15 * 60);
/// Real time for the same: the service works in real time.
const SETTLE_REAL: Duration = Duration::from_secs(15);
/// And no fewer looks.
const SETTLE_LOOKS: u32 = 20;
/// Simulated time between two looks at a cluster.
const POLL_INTERVAL: Duration = Duration::from_secs(15);
/// Real time between two looks at clusters, shared by all of them.
const LOOK_REAL: Duration = Duration::from_millis(4);
const LEAST_LOOK_REAL: Duration = Duration::from_millis(250);

/// How far a simulation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Until the clusters could be installed.
    Ready,
    Installed,
}

/// Why something can't be simulated.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("hosts of a cluster of topology {topology}: {least}{or_more}, not {hosts}")]
    Hosts { topology: Topology, least: u32, or_more: &'static str, hosts: u32 },
    #[error("a cluster of topology {topology} has no network of the kind {network}")]
    Network { topology: Topology, network: Network },
    #[error("{fault} strikes host {place}, but the hosts are numbered from 0 to {last}")]
    NetworkAddress { fault: Fault, place: u32, last: u32 },
    #[error("{fault} strikes a host of a role that clusters of topology {topology} do not have")]
    Role { fault: Fault, topology: Topology },
    #[error("{0} strikes before the service has chosen the bootstrap host")]
    Early(Fault),
    #[error("of the faults of a cluster one may name its target by a role, not {0}")]
    Roles(Faults),
    #[error("there must be a cluster")]
    NoCluster,
    #[error("{clusters} clusters of {hosts} hosts are more than there are addresses for")]
    Addresses { clusters: u32, hosts: u32 },
    #[error("an existing cluster can be simulated only once, not {0} times")]
    Existing(u32),
    #[error("the speed must be between 0.1 and 100000, not {0}")]
    Speed(f64),
}

/// What each cluster is like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub topology: Topology,
    pub network: Network,
    pub platform: Platform,
    /// Hosts that it is installed on.
    pub hosts: u32,
    /// Control-plane nodes and workers that are added when it is installed.
    pub added_masters: u32,
    pub added_workers: u32,
}

impl Shape {
    /// The usual cluster of a topology.
    pub fn of(topology: Topology) -> Self {
        Self {
            topology,
            network: Network::default(),
            platform: Platform::default(),
            hosts: topology.usual_hosts(),
            added_masters: 0,
            added_workers: 0,
        }
    }

    /// Its hosts, those included that are added later.
    pub fn all_hosts(&self) -> Option<u32> {
        self.hosts.checked_add(self.added_masters)?.checked_add(self.added_workers)
    }

    /// What the machine at a place is bought for.
    pub fn build(&self, place: u32) -> Build {
        match place.checked_sub(self.hosts) {
            None => self.topology.build(place),
            Some(added) if added < self.added_masters => Build::ControlPlane,
            Some(_) => Build::Worker,
        }
    }

    /// Whether the cluster keeps virtual addresses.
    pub fn has_vips(&self) -> bool {
        self.topology.has_vips() && self.network != Network::UserManaged && !self.platform.is_user_managed()
    }

    /// What its network is made for.
    pub fn needs(&self) -> Option<Needs> {
        let dual = self.network == Network::DualStack;
        Some(Needs { hosts: self.all_hosts()?, vips: self.topology.has_vips(), dual })
    }

    /// Whether the machine at a place may get a role.
    fn may_be(&self, place: u32, role: HostRole) -> bool {
        match self.build(place) {
            Build::ControlPlane if self.topology == Topology::Sno => role == HostRole::Bootstrap,
            Build::ControlPlane => matches!(role, HostRole::Bootstrap | HostRole::Master),
            Build::Worker => role == HostRole::Worker,
            Build::Arbiter => role == HostRole::Arbiter,
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        let Self { topology, network, hosts, .. } = *self;
        let (least, most) = (topology.least_hosts(), topology.most_hosts());
        if !(least..=most).contains(&hosts) {
            let or_more = if most == u32::MAX { " or more" } else { "" };
            return Err(PlanError::Hosts { topology, least, or_more, hosts });
        }
        if !topology.has_vips() && matches!(network, Network::DhcpVips | Network::UserManaged) {
            return Err(PlanError::Network { topology, network });
        }
        Ok(())
    }
}

/// What is simulated. The same plan gives the same machines, and the same doings as long as the service answers the same.
#[derive(Clone, Debug)]
pub struct Plan {
    pub clusters: u32,
    pub shape: Shape,
    pub goal: Goal,
    /// What goes wrong; the clusters take turns.
    pub faults: Vec<Faults>,
    pub seed: u64,
    /// Simulated seconds per second.
    pub speed: f64,
    /// OpenShift version of the clusters.
    pub version: String,
    pub pull_secret: String,
    /// A cluster and its infra-env, instead of new ones.
    pub existing: Option<(ClusterId, InfraEnvId)>,
    /// Infra-envs of an existing cluster's hosts by their places, where each host has one of its own; the rest boot that of the cluster.
    pub infra_envs: Vec<InfraEnvId>,
    /// Whether someone else sets up and installs the clusters.
    pub hosts_only: bool,
    /// Whether a real controller does the work of the simulated one, so that nodes are told of by nobody else.
    pub other_controller: bool,
    /// Where the clusters are to end, if not where topology and faults lead them.
    pub expected: Option<ClusterStatus>,
    /// Simulated time between two looks at a cluster.
    pub look: Duration,
    /// Simulated time after which a cluster that does not change is taken to stay as it is.
    pub settle: Duration,
    all_hosts: u32,
}

impl Plan {
    /// The installation of some clusters, without faults.
    pub fn new(shape: Shape, clusters: u32, speed: f64) -> Result<Self, PlanError> {
        if !(0.1..=100_000.0).contains(&speed) {
            return Err(PlanError::Speed(speed));
        }
        if clusters == 0 {
            return Err(PlanError::NoCluster);
        }
        shape.check()?;
        let site = |needs| Site::new(clusters.checked_sub(1)?, needs);
        let all_hosts = shape.needs().filter(|needs| site(*needs).is_some()).map(|needs| needs.hosts);
        // Hardware addresses have three bytes of their own.
        let fits = |hosts: &u32| clusters.checked_mul(*hosts).is_some_and(|all| all < 1 << 24);
        let Some(all_hosts) = all_hosts.filter(fits) else {
            return Err(PlanError::Addresses { clusters, hosts: shape.all_hosts().unwrap_or(u32::MAX) });
        };
        let look = POLL_INTERVAL.max(LEAST_LOOK_REAL.max(LOOK_REAL * clusters).mul_f64(speed));
        Ok(Self {
            clusters,
            shape,
            goal: Goal::Installed,
            faults: Vec::new(),
            seed: 0,
            speed,
            version: String::new(),
            pull_secret: PULL_SECRET.to_owned(),
            existing: None,
            infra_envs: Vec::new(),
            hosts_only: false,
            other_controller: false,
            expected: None,
            look,
            settle: SETTLE.max(SETTLE_REAL.mul_f64(speed)).max(look * SETTLE_LOOKS),
            all_hosts,
        })
    }

    /// The same with a cluster and an infra-env that exist.
    pub fn with_existing(mut self, cluster: ClusterId, infra_env: InfraEnvId) -> Result<Self, PlanError> {
        if self.clusters != 1 {
            return Err(PlanError::Existing(self.clusters));
        }
        self.existing = Some((cluster, infra_env));
        Ok(self)
    }

    /// The same with faults.
    pub fn with_faults(mut self, faults: Vec<Faults>) -> Result<Self, PlanError> {
        let last = self.all_hosts - 1;
        for fault in faults.iter().flat_map(|faults| &faults.0) {
            match fault.target {
                FaultTarget::NetworkAddress(place) if place > last => {
                    return Err(PlanError::NetworkAddress { fault: *fault, place, last });
                }
                FaultTarget::Role(HostRole::Bootstrap) if fault.is_early() && self.shape.hosts > 1 => {
                    return Err(PlanError::Early(*fault));
                }
                FaultTarget::Role(role) if !(0..=last).any(|place| self.shape.may_be(place, role)) => {
                    return Err(PlanError::Role { fault: *fault, topology: self.shape.topology });
                }
                _ => {}
            }
        }
        let by_role = |fault: &&Fault| matches!(fault.target, FaultTarget::Role(_));
        if let Some(several) = faults.iter().find(|faults| faults.0.iter().filter(by_role).count() > 1) {
            return Err(PlanError::Roles(several.clone()));
        }
        self.faults = faults;
        Ok(self)
    }

    /// The name of a cluster.
    pub fn cluster_name(&self, index: u32) -> String {
        format!("sim-{}-{}-{index}", self.shape.topology, self.seed)
    }

    /// Hosts of each cluster, those included that are added later.
    pub fn all_hosts(&self) -> u32 {
        self.all_hosts
    }

    /// Number of a cluster's first host among those of all clusters.
    pub fn first_host(&self, cluster: u32) -> u32 {
        cluster * self.all_hosts
    }

    /// What strikes a cluster.
    pub fn strikes(&self, cluster: u32) -> impl Iterator<Item = Fault> {
        let faults = self.faults.get(cluster as usize % self.faults.len().max(1));
        faults.into_iter().flat_map(|faults| &faults.0).copied()
    }

    /// Whether a fault may strike the host at a place of a cluster.
    pub fn may_strike(&self, cluster: u32, fault: Fault, place: u32) -> bool {
        match fault.target {
            FaultTarget::Drawn => place == Random::of(self.seed ^ 0xfa17, cluster).below(self.shape.hosts),
            FaultTarget::NetworkAddress(wanted) => place == wanted,
            FaultTarget::Role(role) => self.shape.may_be(place, role),
        }
    }

    /// Where a cluster is to end.
    pub fn outcome(&self, cluster: u32) -> ClusterStatus {
        let added = self.shape.added_masters + self.shape.added_workers > 0;
        let reached = match self.goal {
            _ if self.expected.is_some() => return self.expected.unwrap_or(ClusterStatus::Installed),
            Goal::Ready => ClusterStatus::Ready,
            Goal::Installed if added => ClusterStatus::AddingHosts,
            Goal::Installed => ClusterStatus::Installed,
        };
        let workers = self.shape.hosts - self.shape.topology.least_hosts();
        let single = self.shape.topology == Topology::Sno;
        let mut lost = 0;
        for fault in self.strikes(cluster) {
            // Those who may be struck are all alike.
            let Some(place) = (0..self.all_hosts).find(|place| self.may_strike(cluster, fault, *place))
            else {
                continue;
            };
            if self.goal == Goal::Ready {
                if fault.keeps_from_being_ready() {
                    return fault.outcome(single);
                }
            } else if fault.takes_a_host() && self.shape.build(place) == Build::Worker {
                lost += u32::from(place < self.shape.hosts);
            } else if place < self.shape.hosts && fault.outcome(single) != ClusterStatus::Installed {
                return fault.outcome(single);
            }
        }
        // Of several workers two must be left; an only one can be spared.
        if workers >= 2 && workers.saturating_sub(lost) < 2 { ClusterStatus::Error } else { reached }
    }
}

#[cfg(test)]
mod tests {
    use ClusterStatus::{AddingHosts, Cancelled, Error, Installed, Insufficient, Ready};

    use super::*;

    fn plan(topology: Topology, clusters: u32, hosts: u32) -> Result<Plan, PlanError> {
        Plan::new(Shape { hosts, ..Shape::of(topology) }, clusters, 60.0)
    }

    fn faults(texts: &[&str]) -> Vec<Faults> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert!(matches!(plan(Topology::Sno, 1, 2), Err(PlanError::Hosts { .. })));
        assert!(matches!(plan(Topology::Ha, 1, 2), Err(PlanError::Hosts { .. })));
        assert!(matches!(plan(Topology::Ha, 0, 5), Err(PlanError::NoCluster)));
        assert!(matches!(plan(Topology::Ha, 1 << 20, 100), Err(PlanError::Addresses { .. })));
        let shape = Shape { added_workers: u32::MAX, ..Shape::of(Topology::Ha) };
        assert!(matches!(Plan::new(shape, 1, 1.0), Err(PlanError::Addresses { .. })));
        assert!(matches!(Plan::new(Shape::of(Topology::Ha), 1, f64::NAN), Err(PlanError::Speed(_))));
        let shape = Shape { network: Network::DhcpVips, ..Shape::of(Topology::Sno) };
        assert!(matches!(Plan::new(shape, 1, 1.0), Err(PlanError::Network { .. })));
        let plan = plan(Topology::Ha, 33_333, 3).unwrap();
        assert!(plan.look >= Duration::from_secs(60), "many clusters share the looks");
        assert!(plan.clone().with_faults(faults(&["clock:3"])).is_err());
        assert!(plan.with_existing(ClusterId::default(), InfraEnvId::default()).is_err());
    }

    #[test]
    fn faults_decide_where_clusters_end() {
        let mut plan = plan(Topology::Compact, 4, 3).unwrap();
        assert_eq!(plan.outcome(0), Installed);
        plan.faults = faults(&["die", "slow-disk", "cancel", "cancel@preparing"]);
        let outcomes: Vec<_> = (0..4).map(|cluster| plan.outcome(cluster)).collect();
        assert_eq!(outcomes, [Error, Installed, Cancelled, Ready]);
        plan.goal = Goal::Ready;
        assert_eq!(plan.outcome(0), Ready);
        plan.faults = faults(&["clock", "broken-disk", "slow-disk+die@discovery"]);
        assert_eq!([0, 1, 2].map(|cluster| plan.outcome(cluster)), [Insufficient, Ready, Insufficient]);
        plan.expected = Some(Error);
        assert_eq!(plan.outcome(0), Error);
    }

    #[test]
    fn workers_can_be_spared() {
        let mut plan = plan(Topology::Ha, 100, 7).unwrap();
        plan.faults = faults(&["fail"]);
        for cluster in 0..100 {
            let fault = plan.strikes(cluster).next().unwrap();
            let place = (0..7).find(|place| plan.may_strike(cluster, fault, *place)).unwrap();
            let outcome = if place < 3 { Error } else { Installed };
            assert_eq!(plan.outcome(cluster), outcome);
        }
        plan.faults = faults(&["fail:3+fail:4", "fail:3+fail:4+fail:5", "die@preparing:3"]);
        assert_eq!([0, 1, 2].map(|cluster| plan.outcome(cluster)), [Installed, Error, Insufficient]);
        plan.faults = faults(&["fail:worker", "fail:master", "fail:bootstrap"]);
        assert_eq!([0, 1, 2].map(|cluster| plan.outcome(cluster)), [Installed, Error, Error]);
    }

    #[test]
    fn victims_have_a_role_that_there_is() {
        let refused = |topology: Topology, fault: &str| {
            let plan = plan(topology, 1, topology.usual_hosts()).unwrap();
            plan.with_faults(faults(&[fault])).err()
        };
        assert!(refused(Topology::Arbiter, "die@preparing:arbiter").is_none());
        assert!(matches!(refused(Topology::Compact, "fail:worker"), Some(PlanError::Role { .. })));
        assert!(matches!(refused(Topology::Sno, "fail:master"), Some(PlanError::Role { .. })));
        for early in ["die@discovery:bootstrap", "clock:bootstrap"] {
            assert!(matches!(refused(Topology::Compact, early), Some(PlanError::Early(_))), "{early}");
            assert!(refused(Topology::Sno, early).is_none(), "a single node is the bootstrap from the start");
        }
        assert!(refused(Topology::Compact, "slow-disk:bootstrap").is_none());
        let both = "fail:master+die@joined:bootstrap";
        assert!(matches!(refused(Topology::Compact, both), Some(PlanError::Roles(_))));
    }

    #[test]
    fn hosts_are_added_later() {
        let shape = Shape { added_masters: 1, added_workers: 2, ..Shape::of(Topology::Ha) };
        let plan = Plan::new(shape, 2, 60.0).unwrap();
        assert_eq!((plan.all_hosts(), plan.first_host(1), plan.outcome(0)), (8, 8, AddingHosts));
        assert_eq!(
            [4, 5, 6].map(|place| shape.build(place)),
            [Build::Worker, Build::ControlPlane, Build::Worker]
        );
    }
}
