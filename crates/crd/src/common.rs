//! What several kinds have in common.

use assisted_wire::cluster::DiskEncryptionMode;
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::infra_env::KernelArgumentOperation;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// What is known about an object (kube-api §3.5). [`crate::condition::set`] keeps its times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    /// Never written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_time: Option<Time>,
    /// When `status` last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    pub r#type: String,
}

/// A ClusterDeployment of any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterReference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// A Secret or ConfigMap of any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespacedReference {
    pub name: String,
    pub namespace: String,
}

/// A ConfigMap with manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ManifestsConfigMapReference {
    pub name: String,
}

/// How hosts reach the network outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Proxy {
    /// URL of the proxy for HTTP.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub http_proxy: String,
    /// URL of the proxy for HTTPS.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub https_proxy: String,
    /// Names, domains and networks that are reached without a proxy, separated by commas; `*` for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
}

/// Where to look further.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DebugInfo {
    /// Where the events are told.
    #[serde(rename = "eventsURL", skip_serializing_if = "String::is_empty")]
    pub events_url: String,
    /// Where the logs are, once there are some.
    #[serde(rename = "logsURL", skip_serializing_if = "String::is_empty")]
    pub logs_url: String,
    /// Status in the REST API.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// What the REST API says about the status.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state_info: String,
}

/// A change of the kernel arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelArgument {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<KernelArgumentOperation>,
    /// The argument, without white space outside of double quotes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// The outcome of a validation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ValidationResult {
    pub id: String,
    pub message: String,
    pub status: String,
}

/// Which disks are encrypted, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DiskEncryption {
    /// The roles of the nodes whose disks are encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_on: Option<RoleSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DiskEncryptionMode>,
    /// Tang servers with their thumbprints, as JSON.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tang_servers: String,
}
