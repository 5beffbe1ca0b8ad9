//! Infrastructure: what of it is read.

use serde::{Deserialize, Serialize};

use crate::resource::{Empty, resource};

resource! {
    /// Where the cluster runs; there is one, named `cluster`. Only the fields that are read here.
    Infrastructure, "config.openshift.io", "v1", "infrastructures", Cluster {
        spec: Empty,
        status: InfrastructureStatus,
    }
}

/// Where it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InfrastructureStatus {
    /// URL of the API for the nodes.
    #[serde(rename = "apiServerInternalURI", skip_serializing_if = "String::is_empty")]
    pub api_server_internal_uri: String,
    /// URL of the API for those outside.
    #[serde(rename = "apiServerURL", skip_serializing_if = "String::is_empty")]
    pub api_server_url: String,
    /// `HighlyAvailable`, `HighlyAvailableArbiter`, `DualReplica`, `SingleReplica` or `External`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub control_plane_topology: String,
    /// Name of the infrastructure, of the cluster's name and a random part.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub infrastructure_name: String,
    /// `HighlyAvailable` or `SingleReplica`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub infrastructure_topology: String,
    /// What is known of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_status: Option<PlatformStatus>,
}

/// A platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlatformStatus {
    /// What is known of the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baremetal: Option<BareMetalPlatformStatus>,
    /// Platform.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
}

/// The platform of bare metal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BareMetalPlatformStatus {
    /// Addresses of the API.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_server_internal_i_ps: Vec<String>,
    /// Addresses of the ingress.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ingress_i_ps: Vec<String>,
}
