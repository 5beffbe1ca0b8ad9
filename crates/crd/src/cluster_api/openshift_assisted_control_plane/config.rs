//! Settings of the cluster, the same in all versions of an OpenshiftAssistedControlPlane.

use k8s_openapi::api::core::v1::LocalObjectReference;
use serde::{Deserialize, Serialize};

use crate::common::{DiskEncryption, ManifestsConfigMapReference, Proxy};

/// Settings of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ControlPlaneConfig {
    /// Addresses of the API, one per address family.
    #[serde(rename = "apiVIPs", skip_serializing_if = "Vec::is_empty")]
    pub api_vips: Vec<String>,
    /// DNS domain that the cluster's name is put before.
    pub base_domain: String,
    /// Parts of OpenShift that the cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// Name of the cluster; without it that of Cluster API.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_name: String,
    /// Which disks are encrypted, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_encryption: Option<DiskEncryption>,
    /// Config map with mirrors of registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_registry_ref: Option<LocalObjectReference>,
    /// Addresses of the ingress, one per address family.
    #[serde(rename = "ingressVIPs", skip_serializing_if = "Vec::is_empty")]
    pub ingress_vips: Vec<String>,
    /// Config maps whose values are manifests to be applied while the cluster comes up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests_config_map_refs: Vec<ManifestsConfigMapReference>,
    /// Whether control plane nodes take ordinary pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masters_schedulable: Option<bool>,
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

/// Parts of OpenShift that a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Capabilities {
    /// Capabilities beside the set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_enabled_capabilities: Vec<String>,
    /// Set of capabilities that the cluster has: `None`, `vCurrent` or a version's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub baseline_capability: String,
}
