//! Hardware that hosts and operators require.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::HostId;
use crate::text_enum;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "preflight-hardware-requirements")]
pub struct PreflightHardwareRequirements {
    #[serde(default)]
    pub operators: Option<Vec<OperatorHardwareRequirements>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ocp: Option<HostTypeHardwareRequirementsWrapper>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-hardware-requirements")]
pub struct OperatorHardwareRequirements {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub operator_name: String,
    #[serde(default)]
    pub dependencies: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<HostTypeHardwareRequirementsWrapper>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-type-hardware-requirements-wrapper")]
pub struct HostTypeHardwareRequirementsWrapper {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<HostTypeHardwareRequirements>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<HostTypeHardwareRequirements>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "host-type-hardware-requirements")]
pub struct HostTypeHardwareRequirements {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantitative: Option<ClusterHostRequirementsDetails>,
    #[serde(default)]
    pub qualitative: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-host-requirements-list")]
pub struct ClusterHostRequirementsList(pub Vec<ClusterHostRequirements>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-host-requirements")]
pub struct ClusterHostRequirements {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<ClusterHostRequirementsDetails>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ocp: Option<ClusterHostRequirementsDetails>,
    #[serde(default)]
    pub operators: Option<Vec<OperatorHostRequirements>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-host-requirements")]
pub struct OperatorHostRequirements {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub operator_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<ClusterHostRequirementsDetails>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "cluster-host-requirements-details")]
pub struct ClusterHostRequirementsDetails {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub cpu_cores: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub ram_mib: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub disk_size_gb: i64,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub installation_disk_speed_threshold_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("format" = "double"))]
    pub network_latency_threshold_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("format" = "double"))]
    pub packet_loss_percentage: Option<f64>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub tpm_enabled_in_bios: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "versioned-cluster-host-requirements-details")]
pub struct VersionedClusterHostRequirementsDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub cpu_cores: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub ram_mib: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub disk_size_gb: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true))]
    pub installation_disk_speed_threshold_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("format" = "double"))]
    pub network_latency_threshold_ms: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-nullable" = true), extend("format" = "double"))]
    pub packet_loss_percentage: Option<f64>,
}

text_enum! {
    #[schemars(inline)]
    pub enum VersionMatchType {
        Exact = "exact",
        MinVersion = "min_version",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "versioned-host-requirements")]
pub struct VersionedHostRequirements {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_type: Option<VersionMatchType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master: Option<VersionedClusterHostRequirementsDetails>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<VersionedClusterHostRequirementsDetails>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<VersionedClusterHostRequirementsDetails>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sno: Option<VersionedClusterHostRequirementsDetails>,
    #[serde(rename = "edge-worker", default, skip_serializing_if = "Option::is_none")]
    pub edge_worker: Option<VersionedClusterHostRequirementsDetails>,
}
