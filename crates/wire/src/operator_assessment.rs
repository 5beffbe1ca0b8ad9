//! What operators need, and what each would mean for a cluster: an addition to the contract, which names operators only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster_params::CpuArchitecture;
use crate::host::HostRole;
use crate::id::HostId;
use crate::requirements::HostTypeHardwareRequirementsWrapper;
use crate::support_level::{FeatureSupportLevelId, IncompatibilityReason, SupportLevel};
use crate::validation::Validation;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-description-list")]
pub struct OperatorDescriptionList(pub Vec<OperatorDescription>);

/// An operator that can be installed with a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-description")]
pub struct OperatorDescription {
    pub name: String,
    /// Its name for people.
    pub title: String,
    pub feature: FeatureSupportLevelId,
    pub namespace: String,
    /// How long it may take to be there, in seconds.
    pub timeout_seconds: i64,
    /// Names of operators that it needs.
    pub dependencies: Vec<String>,
    /// Names of operators that it needs besides on a single node.
    pub single_node_dependencies: Vec<String>,
    /// Ids of the bundles that it is part of.
    pub bundles: Vec<String>,
    /// Its support levels, from the oldest version that has it.
    pub levels: Vec<OperatorLevel>,
    /// Architectures that it can't be had on.
    pub excluded_architectures: Vec<CpuArchitecture>,
    /// Features that it does not go with.
    pub incompatibilities: Vec<FeatureSupportLevelId>,
    /// What it takes of each host of a cluster of several nodes, by role.
    pub requirements: HostTypeHardwareRequirementsWrapper,
}

/// The support level that an operator has from a version on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-level")]
pub struct OperatorLevel {
    /// Major and minor version; empty: any.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub from_version: String,
    pub support_level: SupportLevel,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-assessment-list")]
pub struct OperatorAssessmentList(pub Vec<OperatorAssessment>);

/// What an operator means for a cluster that has it, or would mean for one that doesn't.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-assessment")]
pub struct OperatorAssessment {
    pub name: String,
    /// Whether the cluster has it.
    pub selected: bool,
    /// Whether the cluster has it only because another operator needs it.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub dependency_only: bool,
    /// For the cluster's version, architecture and platform.
    pub support_level: SupportLevel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<IncompatibilityReason>,
    /// Names of operators that would be added with it.
    pub adds: Vec<String>,
    /// Why a request that selects it would be refused; empty: it would not be.
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub refusal: String,
    /// What the operator's validations of the cluster find.
    pub validations: Vec<Validation>,
    /// The cluster's hosts, each with what the operator takes of it.
    pub hosts: Vec<OperatorHostAssessment>,
}

/// What an operator and those that it needs mean for a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-host-assessment")]
pub struct OperatorHostAssessment {
    pub id: HostId,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub hostname: String,
    /// The role that it is judged in.
    pub role: HostRole,
    /// Cores that the operator takes of it, besides what OpenShift and other operators do.
    pub cpu_cores: i64,
    /// Memory that the operator takes of it, in MiB.
    pub ram_mib: i64,
    /// What the validations of the host find that depend on the operator: its own, and those of cores and memory in all.
    pub validations: Vec<Validation>,
}
