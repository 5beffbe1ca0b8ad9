//! Validations of operators: one per operator, for hosts and for clusters (validations §8).

use assisted_wire::cluster::{Cluster, ClusterValidationId as C};
use assisted_wire::host::HostValidationId as H;
use assisted_wire::operator::OperatorType;

use super::outcome::Outcome;
use super::topology;

/// An operator that can be installed with a cluster, and its validations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorValidation {
    /// Its name in a cluster's operators.
    pub name: &'static str,
    pub host: H,
    pub cluster: C,
}

macro_rules! operators {
    ($($name:literal $id:ident,)+) => {
        /// Every operator, in the order of the catalogue.
        pub const OPERATORS: &[OperatorValidation] =
            &[$(OperatorValidation { name: $name, host: H::$id, cluster: C::$id },)+];
    };
}

operators! {
    "lso" LsoRequirementsSatisfied,
    "odf" OdfRequirementsSatisfied,
    "cnv" CnvRequirementsSatisfied,
    "lvm" LvmRequirementsSatisfied,
    "mce" MceRequirementsSatisfied,
    "mtv" MtvRequirementsSatisfied,
    "osc" OscRequirementsSatisfied,
    "node-feature-discovery" NodeFeatureDiscoveryRequirementsSatisfied,
    "nvidia-gpu" NvidiaGpuRequirementsSatisfied,
    "amd-gpu" AmdGpuRequirementsSatisfied,
    "kmm" KmmRequirementsSatisfied,
    "pipelines" PipelinesRequirementsSatisfied,
    "servicemesh" ServicemeshRequirementsSatisfied,
    "serverless" ServerlessRequirementsSatisfied,
    "authorino" AuthorinoRequirementsSatisfied,
    "openshift-ai" OpenshiftAiRequirementsSatisfied,
    "nmstate" NmstateRequirementsSatisfied,
    "node-healthcheck" NodeHealthcheckRequirementsSatisfied,
    "self-node-remediation" SelfNodeRemediationRequirementsSatisfied,
    "fence-agents-remediation" FenceAgentsRemediationRequirementsSatisfied,
    "node-maintenance" NodeMaintenanceRequirementsSatisfied,
    "kube-descheduler" KubeDeschedulerRequirementsSatisfied,
    "loki" LokiRequirementsSatisfied,
    "openshift-logging" OpenshiftLoggingRequirementsSatisfied,
    "cluster-observability" ClusterObservabilityRequirementsSatisfied,
    "numaresources" NumaResourcesRequirementsSatisfied,
    "oadp" OadpRequirementsSatisfied,
    "metallb" MetallbRequirementsSatisfied,
}

/// The outcome for an operator, of a host or of the cluster.
pub(super) fn outcome(operator: &OperatorValidation, cluster: &Cluster) -> Outcome {
    let name = operator.name;
    let is_selected = || {
        let mut operators = cluster.monitored_operators.iter().flatten();
        operators.any(|each| each.operator_type == Some(OperatorType::Olm) && each.name == name)
    };
    if topology::is_day2(cluster) && is_selected() {
        Outcome::success(format!("{name} validation is disabled when adding hosts to an existing cluster."))
    } else {
        Outcome::success(format!("{name} is disabled"))
    }
}
