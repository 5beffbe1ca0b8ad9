//! What is simulated.

use std::time::Duration;

use assisted_wire::cluster::ClusterStatus;
use assisted_wire::id::{ClusterId, InfraEnvId};

use crate::fault::{Fault, Mishap};
use crate::random::Random;
use crate::topology::{Build, Topology};
use crate::world::Site;

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
const LOOK: Duration = Duration::from_secs(15);
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
    #[error("{clusters} clusters of {hosts} hosts are more than there are addresses for")]
    Addresses { clusters: u32, hosts: u32 },
    #[error("an existing cluster can be simulated only once, not {0} times")]
    Existing(u32),
    #[error("the speed must be between 0.1 and 100000, not {0}")]
    Speed(f64),
}

/// What is simulated. The same plan gives the same machines, and the same doings as long as the service answers the same.
#[derive(Clone, Debug)]
pub struct Plan {
    pub clusters: u32,
    /// Hosts of each cluster.
    pub hosts: u32,
    pub topology: Topology,
    pub goal: Goal,
    /// Each cluster has one host that one of these strikes; they take turns.
    pub faults: Vec<Fault>,
    pub seed: u64,
    /// Simulated seconds per second.
    pub speed: f64,
    /// OpenShift version of the clusters.
    pub version: String,
    pub pull_secret: String,
    /// A cluster and its infra-env, instead of new ones.
    pub existing: Option<(ClusterId, InfraEnvId)>,
    /// Where the clusters are to end, if not where topology and faults lead them.
    pub expected: Option<ClusterStatus>,
    /// Simulated time between two looks at a cluster.
    pub look: Duration,
    /// Simulated time after which a cluster that does not change is taken to stay as it is.
    pub settle: Duration,
}

impl Plan {
    /// The installation of some clusters, without faults.
    pub fn new(topology: Topology, clusters: u32, hosts: u32, speed: f64) -> Result<Self, PlanError> {
        if !(0.1..=100_000.0).contains(&speed) {
            return Err(PlanError::Speed(speed));
        }
        let (least, most) = (topology.least_hosts(), topology.most_hosts());
        if !(least..=most).contains(&hosts) {
            let or_more = if most == u32::MAX { " or more" } else { "" };
            return Err(PlanError::Hosts { topology, least, or_more, hosts });
        }
        let fits = clusters.checked_sub(1).and_then(|last| Site::new(last, hosts, topology.has_vips()));
        // Hardware addresses have three bytes of their own.
        let numbered = clusters.checked_mul(hosts).is_some_and(|all| all < 1 << 24);
        if fits.is_none() || !numbered {
            return Err(PlanError::Addresses { clusters, hosts });
        }
        let look = LOOK.max(LEAST_LOOK_REAL.max(LOOK_REAL * clusters).mul_f64(speed));
        Ok(Self {
            clusters,
            hosts,
            topology,
            goal: Goal::Installed,
            faults: Vec::new(),
            seed: 0,
            speed,
            version: String::new(),
            pull_secret: PULL_SECRET.to_owned(),
            existing: None,
            expected: None,
            look,
            settle: SETTLE.max(SETTLE_REAL.mul_f64(speed)).max(look * SETTLE_LOOKS),
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

    /// The name of a cluster.
    pub fn cluster_name(&self, index: u32) -> String {
        format!("sim-{}-{}-{index}", self.topology, self.seed)
    }

    /// What strikes a cluster, and at which place.
    pub fn strike(&self, cluster: u32) -> Option<(u32, Fault)> {
        let fault = *self.faults.get(cluster as usize % self.faults.len().max(1))?;
        let place = Random::of(self.seed ^ 0xfa17, cluster).below(self.hosts);
        Some((place, fault))
    }

    /// Where a cluster is to end.
    pub fn outcome(&self, cluster: u32) -> ClusterStatus {
        if let Some(expected) = self.expected {
            return expected;
        }
        let reached = match self.goal {
            Goal::Ready => ClusterStatus::Ready,
            Goal::Installed => ClusterStatus::Installed,
        };
        let Some((place, fault)) = self.strike(cluster) else { return reached };
        let workers = self.hosts - self.topology.least_hosts();
        // One of several workers can be spared as long as two are left, and an only one.
        let spared = self.topology.build(place) == Build::Worker && workers != 2;
        match (fault.mishap, fault.mishap.outcome()) {
            (Mishap::Die | Mishap::Fail, _) if spared => reached,
            (Mishap::Clock, outcome) => outcome,
            (_, _) if self.goal == Goal::Ready => reached,
            (_, outcome) => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use ClusterStatus::{Error, Installed, Insufficient, Ready};

    use super::*;

    #[test]
    fn impossible_plans_are_refused() {
        assert!(matches!(Plan::new(Topology::Sno, 1, 2, 60.0), Err(PlanError::Hosts { .. })));
        assert!(matches!(Plan::new(Topology::Ha, 1, 2, 60.0), Err(PlanError::Hosts { .. })));
        assert!(matches!(Plan::new(Topology::Ha, 0, 5, 60.0), Err(PlanError::Addresses { .. })));
        assert!(matches!(Plan::new(Topology::Ha, 1 << 20, 100, 60.0), Err(PlanError::Addresses { .. })));
        assert!(matches!(Plan::new(Topology::Ha, 1, 5, f64::NAN), Err(PlanError::Speed(_))));
        let plan = Plan::new(Topology::Ha, 33_333, 3, 60.0).unwrap();
        assert!(plan.look >= Duration::from_secs(60), "many clusters share the looks");
        assert!(plan.with_existing(ClusterId::default(), InfraEnvId::default()).is_err());
    }

    #[test]
    fn faults_decide_where_clusters_end() {
        let mut plan = Plan::new(Topology::Compact, 4, 3, 60.0).unwrap();
        assert_eq!(plan.outcome(0), Installed);
        plan.faults = vec!["die".parse().unwrap(), "slow-disk".parse().unwrap()];
        let outcomes: Vec<_> = (0..4).map(|cluster| plan.outcome(cluster)).collect();
        assert_eq!(outcomes, [Error, Installed, Error, Installed]);
        plan.goal = Goal::Ready;
        assert_eq!(plan.outcome(0), Ready);
        plan.faults = vec!["clock".parse().unwrap()];
        assert_eq!(plan.outcome(0), Insufficient);
        plan.expected = Some(Error);
        assert_eq!(plan.outcome(0), Error);
    }

    #[test]
    fn workers_can_be_spared() {
        let mut plan = Plan::new(Topology::Ha, 100, 7, 60.0).unwrap();
        plan.faults = vec!["fail".parse().unwrap()];
        for cluster in 0..100 {
            let (place, _) = plan.strike(cluster).unwrap();
            let outcome = if place < 3 { Error } else { Installed };
            assert_eq!(plan.outcome(cluster), outcome);
        }
    }
}
