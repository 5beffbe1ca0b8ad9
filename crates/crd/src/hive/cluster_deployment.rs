//! ClusterDeployment: what of it is read and written.

use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// A cluster. Only the fields that are read and written here.
    ClusterDeployment, "hive.openshift.io", "v1", "clusterdeployments", Namespaced {
        spec: ClusterDeploymentSpec,
    }
}

/// The cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterDeploymentSpec {
    /// DNS domain that the cluster's name is put before.
    pub base_domain: String,
    /// AgentClusterInstall of the same namespace that tells how to install it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_install_ref: Option<ClusterInstallReference>,
    /// What is known of the cluster once it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_metadata: Option<ClusterMetadata>,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Whether the cluster is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<bool>,
    /// Platform; required by the schema and used for nothing here.
    pub platform: Platform,
    /// Whether the cluster stays when the object goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_on_delete: Option<bool>,
    /// Secret in the same namespace whose `.dockerconfigjson` holds the registry credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<LocalObjectReference>,
}

/// The object that tells how to install a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterInstallReference {
    pub group: String,
    pub kind: String,
    pub name: String,
    /// Version.
    pub version: String,
}

/// What is known of a cluster that is there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterMetadata {
    /// Secret with the kubeconfig.
    pub admin_kubeconfig_secret_ref: LocalObjectReference,
    /// Secret with the password of `kubeadmin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_password_secret_ref: Option<LocalObjectReference>,
    /// Id that the cluster gave itself.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// Name that the cluster's infrastructure has.
    #[serde(rename = "infraID")]
    pub infra_id: String,
}

/// Where a cluster runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Platform {
    /// Hosts by Agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_bare_metal: Option<AgentBareMetal>,
}

/// Hosts by Agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentBareMetal {
    /// Required by the schema and used for nothing here.
    pub agent_selector: LabelSelector,
}
