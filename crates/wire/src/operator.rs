//! Operators that are installed with a cluster, and bundles of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::ClusterId;
use crate::own_operators::{operator_enum, with_own_operators};
use crate::support_level::{FeatureSupportLevelId, IncompatibilityReason, SupportLevel};
use crate::text_enum;
use crate::time::DateTime;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "monitored-operator")]
pub struct MonitoredOperator {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<ClusterId>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub version: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub namespace: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub subscription_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_type: Option<OperatorType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub properties: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub timeout_seconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OperatorStatus>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub status_info: String,
    #[serde(default)]
    pub status_updated_at: DateTime,
    #[serde(default)]
    pub bundles: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub dependency_only: bool,
    #[serde(default)]
    pub source_bundles: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-monitor-report")]
pub struct OperatorMonitorReport {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OperatorStatus>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub status_info: String,
}

text_enum! {
    #[schemars(rename = "operator-type")]
    pub enum OperatorType {
        Builtin = "builtin",
        Olm = "olm",
    }
}

text_enum! {
    #[schemars(rename = "operator-status")]
    pub enum OperatorStatus {
        Failed = "failed",
        Progressing = "progressing",
        Available = "available",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-create-params")]
pub struct OperatorCreateParams {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub properties: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "bundle-create-params")]
pub struct BundleCreateParams {
    pub id: String,
    #[serde(default)]
    pub optional_operators: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "monitored-operators-list")]
pub struct MonitoredOperatorsList(pub Vec<MonitoredOperator>);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "bundle")]
pub struct Bundle {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub id: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub title: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub description: String,
    #[serde(default)]
    pub operators: Option<Vec<String>>,
    #[serde(default)]
    pub optional_operators: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator", extend("required" = ["dependencies", "feature-support-level-id", "incompatibilities", "name", "support_level"]))]
pub struct Operator {
    #[serde(rename = "feature-support-level-id")]
    pub feature_support_level_id: FeatureSupportLevelId,
    pub support_level: SupportLevel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<IncompatibilityReason>,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub incompatibilities: Vec<FeatureSupportLevelId>,
    pub name: String,
    #[serde(default, deserialize_with = "crate::null::or_default")]
    pub dependencies: Vec<FeatureSupportLevelId>,
}

text_enum! {
    #[schemars(inline)]
    pub enum OperatorPropertyDataType {
        Boolean = "boolean",
        String = "string",
        Integer = "integer",
        Float = "float",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-property")]
pub struct OperatorProperty {
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_type: Option<OperatorPropertyDataType>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub mandatory: bool,
    #[serde(default)]
    pub options: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub description: String,
    #[serde(default, skip_serializing_if = "crate::null::is_default")]
    pub default_value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operator-properties")]
pub struct OperatorProperties(pub Vec<OperatorProperty>);

with_own_operators! { operator_enum! name
    #[schemars(inline)]
    pub enum SupportedOperator {
        AmdGpu = "amd-gpu",
        Lso = "lso",
        Mtv = "mtv",
        OpenshiftAi = "openshift-ai",
        Osc = "osc",
        Servicemesh = "servicemesh",
        Authorino = "authorino",
        Cnv = "cnv",
        NvidiaGpu = "nvidia-gpu",
        Pipelines = "pipelines",
        Odf = "odf",
        Lvm = "lvm",
        Mce = "mce",
        NodeFeatureDiscovery = "node-feature-discovery",
        Serverless = "serverless",
        Nmstate = "nmstate",
        Kmm = "kmm",
        NodeHealthcheck = "node-healthcheck",
        SelfNodeRemediation = "self-node-remediation",
        FenceAgentsRemediation = "fence-agents-remediation",
        NodeMaintenance = "node-maintenance",
        KubeDescheduler = "kube-descheduler",
        ClusterObservability = "cluster-observability",
        Numaresources = "numaresources",
        Oadp = "oadp",
        Metallb = "metallb",
        Loki = "loki",
        OpenshiftLogging = "openshift-logging",
    }
}
