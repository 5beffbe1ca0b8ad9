//! Operators that come with a cluster: what each asks of the cluster and of its hosts (validations §8).
//!
//! An operator is a file that implements [`Plugin`], and a line in [`OPERATORS`]: from there its validations become part of
//! what hosts and clusters are judged by. What it is called, what it depends on and which bundles hold it stands in
//! [`catalogue`] and [`bundle`].

pub mod bundle;
pub mod catalogue;
mod disks;
mod lvm;
mod odf;
pub mod selection;
pub mod subscription;
mod view;

use assisted_wire::cluster::{Cluster, ClusterValidationId as C};
use assisted_wire::host::HostValidationId as H;
use assisted_wire::operator::OperatorType;

pub(crate) use self::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::policy;

/// What an operator asks, of nobody anything unless it says so.
pub(crate) trait Plugin: Sync {
    /// What it takes of a host that is there.
    fn requirements(&self, _host: &HostView<'_>) -> Extra {
        Extra::default()
    }

    /// What it would take of hosts that are not there yet.
    fn preflight(&self, _cluster: &Cluster, _policy: &policy::Operators) -> Preflight {
        Preflight::default()
    }

    /// Whether a host can be part of it.
    fn check_host(&self, _host: &HostView<'_>) -> Outcome {
        Outcome::success("")
    }

    /// Whether it can be installed with the cluster.
    fn check_cluster(&self, _cluster: &ClusterView<'_>) -> Outcome {
        Outcome::success("")
    }
}

/// What an operator takes of a host, besides what OpenShift itself does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    pub cpu_cores: i64,
    pub ram_mib: i64,
}

impl Extra {
    pub fn new(cpu_cores: i64, ram_mib: i64) -> Self {
        Self { cpu_cores, ram_mib }
    }

    pub fn with_gib(cpu_cores: i64, ram_gib: i64) -> Self {
        Self { cpu_cores, ram_mib: ram_gib.saturating_mul(1024) }
    }
}

/// What an operator takes of the hosts of each role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preflight {
    pub master: RolePreflight,
    pub worker: RolePreflight,
}

/// What an operator takes of the hosts of a role: numbers, and words for what depends on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RolePreflight {
    pub extra: Extra,
    pub words: Vec<String>,
}

impl RolePreflight {
    pub fn new(extra: Extra, words: &[&str]) -> Self {
        Self { extra, words: words.iter().map(|word| (*word).to_owned()).collect() }
    }
}

impl Preflight {
    /// The same of both roles.
    pub fn of_both(role: RolePreflight) -> Self {
        Self { master: role.clone(), worker: role }
    }
}

/// An operator, with its validations.
#[derive(Clone, Copy)]
pub(crate) struct Operator {
    /// Its name in the catalogue, and among the operators of a cluster.
    pub name: &'static str,
    pub host: H,
    pub cluster: C,
    /// What is said of it when it is not installed.
    pub disabled: &'static str,
    /// `None`: can be selected, but what it asks is not known here yet; it is reported as if it were not installed.
    pub plugin: Option<&'static dyn Plugin>,
}

macro_rules! operators {
    ($($name:literal $id:ident $($plugin:expr)?;)+) => {
        /// Every operator.
        pub(crate) const OPERATORS: &[Operator] = &[$(Operator {
            name: $name,
            host: H::$id,
            cluster: C::$id,
            disabled: concat!($name, " is disabled"),
            plugin: operators!(@plugin $($plugin)?),
        }),+];
    };
    (@plugin) => { None };
    (@plugin $plugin:expr) => { Some(&$plugin) };
}

operators! {
    "lso" LsoRequirementsSatisfied;
    "odf" OdfRequirementsSatisfied odf::Odf;
    "cnv" CnvRequirementsSatisfied;
    "lvm" LvmRequirementsSatisfied lvm::Lvm;
    "mce" MceRequirementsSatisfied;
    "mtv" MtvRequirementsSatisfied;
    "osc" OscRequirementsSatisfied;
    "node-feature-discovery" NodeFeatureDiscoveryRequirementsSatisfied;
    "nvidia-gpu" NvidiaGpuRequirementsSatisfied;
    "amd-gpu" AmdGpuRequirementsSatisfied;
    "kmm" KmmRequirementsSatisfied;
    "pipelines" PipelinesRequirementsSatisfied;
    "servicemesh" ServicemeshRequirementsSatisfied;
    "serverless" ServerlessRequirementsSatisfied;
    "authorino" AuthorinoRequirementsSatisfied;
    "openshift-ai" OpenshiftAiRequirementsSatisfied;
    "nmstate" NmstateRequirementsSatisfied;
    "node-healthcheck" NodeHealthcheckRequirementsSatisfied;
    "self-node-remediation" SelfNodeRemediationRequirementsSatisfied;
    "fence-agents-remediation" FenceAgentsRemediationRequirementsSatisfied;
    "node-maintenance" NodeMaintenanceRequirementsSatisfied;
    "kube-descheduler" KubeDeschedulerRequirementsSatisfied;
    "loki" LokiRequirementsSatisfied;
    "openshift-logging" OpenshiftLoggingRequirementsSatisfied;
    "cluster-observability" ClusterObservabilityRequirementsSatisfied;
    "numaresources" NumaResourcesRequirementsSatisfied;
    "oadp" OadpRequirementsSatisfied;
    "metallb" MetallbRequirementsSatisfied;
}

/// The operator of a name.
pub(crate) fn find(name: &str) -> Option<&'static Operator> {
    OPERATORS.iter().find(|operator| operator.name == name)
}

/// Whether an operator is to be installed with a cluster.
pub(crate) fn is_selected(cluster: &Cluster, name: &str) -> bool {
    let mut operators = cluster.monitored_operators.iter().flatten();
    operators.any(|each| each.operator_type == Some(OperatorType::Olm) && each.name == name)
}

/// What each operator of the host's cluster takes of the host.
pub(crate) fn requirements<'a>(
    host: &'a HostView<'a>,
) -> impl Iterator<Item = (&'static Operator, Extra)> + 'a {
    let selected = OPERATORS.iter().filter(|operator| is_selected(host.cluster, operator.name));
    selected.map(|operator| {
        (operator, operator.plugin.map_or_else(Extra::default, |plugin| plugin.requirements(host)))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::operator::catalogue::OLM;

    #[test]
    fn one_of_each_in_the_catalogue() {
        let own: BTreeSet<&str> = OPERATORS.iter().map(|operator| operator.name).collect();
        let listed: BTreeSet<&str> = OLM.iter().map(|operator| operator.name).collect();
        assert_eq!(own, listed);
        assert_eq!(OPERATORS.len(), listed.len(), "each once");
        for operator in OPERATORS {
            assert_eq!(operator.host.as_str(), operator.cluster.as_str());
        }
    }
}
