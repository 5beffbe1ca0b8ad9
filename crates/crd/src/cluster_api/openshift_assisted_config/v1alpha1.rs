//! OpenshiftAssistedConfig v1alpha1: how a machine of Cluster API is discovered.

use k8s_openapi::api::core::v1::{LocalObjectReference, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use crate::cluster_api::common::V1Beta1Condition;
use crate::common::{KernelArgument, Proxy};
use crate::resource::resource;

resource! {
    /// How a machine of Cluster API is discovered.
    OpenshiftAssistedConfig, "bootstrap.cluster.x-k8s.io", "v1alpha1", "openshiftassistedconfigs", Namespaced {
        spec: OpenshiftAssistedConfigSpec,
        status: OpenshiftAssistedConfigStatus,
    }
}

/// How a machine is discovered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedConfigSpec {
    /// NTP servers, by name or address, beside those that the host gets otherwise.
    #[serde(rename = "additionalNTPSources", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    /// Certificates that hosts trust, in PEM form.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub additional_trust_bundle: String,
    /// Architecture of the CPU.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cpu_architecture: String,
    /// Changes of the kernel arguments of the discovery image, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<KernelArgument>,
    /// Which NMStateConfigs of the namespace are meant.
    #[serde(rename = "nmStateConfigLabelSelector", skip_serializing_if = "Option::is_none")]
    pub nmstate_config_label_selector: Option<LabelSelector>,
    /// How the node registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_registration: Option<NodeRegistration>,
    /// Version of the discovery image; without it the one that fits the cluster, or the newest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub os_image_version: String,
    /// How hosts reach the network outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Secret in the same namespace whose `.dockerconfigjson` holds the registry credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalObjectReference>,
    /// Public keys, one a line, that may log in as `core`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_authorized_key: String,
}

/// How the node registers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeRegistration {
    /// Labels of the node, as `key=value`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kubelet_extra_labels: Vec<String>,
    /// Name of the node; may hold variables of the metadata service.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OpenshiftAssistedConfigStatus {
    /// Agent of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<LocalObjectReference>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<V1Beta1Condition>,
    /// Secret with the bootstrap data.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub data_secret_name: String,
    /// The same for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Short reason of a failure that does not go away.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_reason: String,
    /// InfraEnv that the machine boots from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infra_env_ref: Option<ObjectReference>,
    /// Generation of the object that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Whether the bootstrap data can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}
