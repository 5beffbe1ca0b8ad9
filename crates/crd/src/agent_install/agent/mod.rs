//! Agent: a host that was discovered, by the name of its id.

pub mod inventory;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use crate::common::{ClusterReference, Condition, DebugInfo, NamespacedReference, ValidationResult};
use crate::resource::resource;

use self::inventory::HostInventory;

resource! {
    /// A host that was discovered. Its name is the id of the host.
    Agent, "agent-install.openshift.io", "v1beta1", "agents", Namespaced {
        spec: AgentSpec,
        status: AgentStatus,
    }
}

/// What is wanted of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentSpec {
    /// Whether the host may be installed.
    pub approved: bool,
    /// ClusterDeployment that the host belongs to; without it the host is in no cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_name: Option<ClusterReference>,
    /// Secret of the namespace with the credentials of the BMC, for fencing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fencing_credentials_secret_ref: String,
    /// Host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// Ignition config, as JSON, that is merged over that of the host.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ignition_config_overrides: String,
    /// Headers sent when the node's Ignition config is fetched.
    #[serde(rename = "ignitionEndpointHTTPHeaders", skip_serializing_if = "BTreeMap::is_empty")]
    pub ignition_endpoint_http_headers: BTreeMap<String, String>,
    /// Secret whose `ignition-token` is sent as bearer token when the node's Ignition config is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignition_endpoint_token_reference: Option<NamespacedReference>,
    /// Disk that the system is installed on, by the id in the inventory.
    #[serde(rename = "installation_disk_id", skip_serializing_if = "String::is_empty")]
    pub installation_disk_id: String,
    /// Disk that the system is installed on, by a path of the inventory.
    #[serde(rename = "installation_disk_path", skip_serializing_if = "String::is_empty")]
    pub installation_disk_path: String,
    /// Further arguments of coreos-installer, as a JSON array.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub installer_args: String,
    /// MachineConfigPool of the node.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine_config_pool: String,
    /// Labels of the node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// Role: `auto-assign`, `master`, `worker`, `arbiter`.
    pub role: String,
}

/// What is known about the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentStatus {
    /// Whether the host carries the temporary control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<bool>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Which requests of the node for certificates were approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csr_status: Option<CsrStatus>,
    /// Where to look further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<DebugInfo>,
    /// What is left to be done in the cluster after the host has left it.
    #[serde(rename = "deprovision_info", skip_serializing_if = "Option::is_none")]
    pub deprovision_info: Option<DeprovisionInfo>,
    /// Disk that the system is installed on, by the id in the inventory.
    #[serde(rename = "installation_disk_id", skip_serializing_if = "String::is_empty")]
    pub installation_disk_id: String,
    /// Hardware of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<HostInventory>,
    /// Kind of the host in the REST API.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// NTP servers, by name or address; nothing else is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<HostNtpSource>,
    /// How far the installation of the host is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<HostProgress>,
    /// Role: `auto-assign`, `master`, `worker`, `arbiter`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// Outcomes of the validations by their category.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub validations_info: BTreeMap<String, Vec<ValidationResult>>,
}

/// Requests of a node for certificates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CsrStatus {
    /// Requests that were approved.
    #[serde(rename = "approvedCSRs", skip_serializing_if = "Vec::is_empty")]
    pub approved_csrs: Vec<ApprovedCsr>,
    /// When approving was last tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_approval_attempt: Option<Time>,
}

/// A request for a certificate that was approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedCsr {
    /// When it was approved.
    pub approved_at: Time,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub r#type: String,
}

/// What is left to be done in a cluster after a host has left it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeprovisionInfo {
    #[serde(rename = "cluster_name", skip_serializing_if = "String::is_empty")]
    pub cluster_name: String,
    #[serde(rename = "cluster_namespace", skip_serializing_if = "String::is_empty")]
    pub cluster_namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    #[serde(rename = "node_name", skip_serializing_if = "String::is_empty")]
    pub node_name: String,
}

/// An NTP server, as a host sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostNtpSource {
    /// NTP server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_name: String,
    /// What the host thinks of it: `synced`, `combined`, `not_combined`, `error`, `variable`, `unreachable`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source_state: String,
}

/// How far the installation of a host is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HostProgress {
    /// Stage of the installation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub current_stage: String,
    /// How far the installation is, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_percentage: Option<i64>,
    /// What is said beside the stage.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub progress_info: String,
    /// All stages of this host, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub progress_stages: Vec<String>,
    /// When the stage began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_start_time: Option<Time>,
    /// When the stage was last reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_update_time: Option<Time>,
}
