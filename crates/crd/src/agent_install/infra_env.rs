//! InfraEnv: a discovery image and what the hosts that boot it have in common.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use serde::{Deserialize, Serialize};

use crate::common::{ClusterReference, Condition, KernelArgument, NamespacedReference, Proxy};
use crate::resource::resource;

resource! {
    /// A discovery image, and what the hosts that boot it have in common.
    InfraEnv, "agent-install.openshift.io", "v1beta1", "infraenvs", Namespaced {
        spec: InfraEnvSpec,
        status: InfraEnvStatus,
    }
}

/// What a discovery image is made from, and where hosts that boot it belong to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InfraEnvSpec {
    /// NTP servers, by name or address, beside those that the host gets otherwise.
    #[serde(rename = "additionalNTPSources", skip_serializing_if = "Vec::is_empty")]
    pub additional_ntp_sources: Vec<String>,
    /// Certificates that hosts trust, in PEM form.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub additional_trust_bundle: String,
    /// Whether hosts need somebody's approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_approval: Option<AgentApproval>,
    /// Labels that new Agents get.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_labels: BTreeMap<String, String>,
    /// ClusterDeployment that the hosts belong to from the start; can't change. Without it hosts are bound later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterReference>,
    /// Architecture of the CPU.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cpu_architecture: String,
    /// Ignition config, as JSON, that is merged over that of the discovery image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ignition_config_override: String,
    /// `full-iso` or `minimal-iso`; without it the service's default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image_type: String,
    /// How an iPXE script boots: always from the image, or as the host's state asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipxe_script_type: Option<IpxeScriptType>,
    /// Changes of the kernel arguments of the discovery image, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_arguments: Vec<KernelArgument>,
    /// Config map with `registries.conf` and, if wanted, `ca-bundle.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<NamespacedReference>,
    /// How long a minimal image waits before it sets up a static network, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_discovery_delay_seconds: Option<i64>,
    /// Which NMStateConfigs of the namespace are meant.
    #[serde(rename = "nmStateConfigLabelSelector", skip_serializing_if = "Option::is_none")]
    pub nmstate_config_label_selector: Option<LabelSelector>,
    /// NTP servers, by name or address; nothing else is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<String>,
    /// Version of the discovery image; without it the one that fits the cluster, or the newest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub os_image_version: String,
    /// How hosts reach the network outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Proxy>,
    /// Secret in the same namespace whose `.dockerconfigjson` holds the registry credentials.
    pub pull_secret_ref: LocalObjectReference,
    /// Public keys, one a line, that may log in as `core`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ssh_authorized_key: String,
}

/// Whether hosts need somebody's approval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentApproval {
    /// Hosts of this InfraEnv are approved as they register.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<bool>,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InfraEnvStatus {
    /// Which Agents belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_label_selector: Option<LabelSelector>,
    /// What is booted from without the ISO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_artifacts: Option<BootArtifacts>,
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// When the image was made; changes with `isoDownloadURL` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_time: Option<Time>,
    /// Where to look further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<InfraEnvDebugInfo>,
    /// Where the ISO is.
    #[serde(rename = "isoDownloadURL", skip_serializing_if = "String::is_empty")]
    pub iso_download_url: String,
}

/// Where the pieces are that a host boots from without the ISO.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BootArtifacts {
    /// Where the Ignition config is.
    #[serde(rename = "discoveryIgnitionURL", skip_serializing_if = "String::is_empty")]
    pub discovery_ignition_url: String,
    /// Where the initial RAM disk is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub initrd: String,
    /// Where the iPXE script is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ipxe_script: String,
    /// Where the kernel is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    /// Where the root file system is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rootfs: String,
}

/// Where to look further.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InfraEnvDebugInfo {
    /// Where the events are told.
    #[serde(rename = "eventsURL", skip_serializing_if = "String::is_empty")]
    pub events_url: String,
    /// Where the static network configuration can be seen.
    #[serde(rename = "staticNetworkDownloadURL", skip_serializing_if = "String::is_empty")]
    pub static_network_download_url: String,
}

/// How an iPXE script boots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpxeScriptType {
    #[default]
    #[serde(rename = "")]
    Unset,
    DiscoveryImageAlways,
    BootOrderControl,
}
