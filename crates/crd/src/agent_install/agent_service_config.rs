//! AgentServiceConfig: what the operator runs.

use std::collections::BTreeMap;

use assisted_wire::cluster_params::CpuArchitecture;
use k8s_openapi::api::core::v1::{LocalObjectReference, PersistentVolumeClaimSpec};
use serde::{Deserialize, Serialize};

use crate::common::Condition;
use crate::resource::resource;

resource! {
    /// What the operator runs: service, image service, database. There is one, named `agent`.
    AgentServiceConfig, "agent-install.openshift.io", "v1beta1", "agentserviceconfigs", Cluster {
        spec: AgentServiceConfigSpec,
        status: AgentServiceConfigStatus,
    }
}

/// What is to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentServiceConfigSpec {
    /// Secret with further headers and query parameters for fetching images.
    #[serde(rename = "OSImageAdditionalParamsRef", skip_serializing_if = "Option::is_none")]
    pub os_image_additional_params_ref: Option<LocalObjectReference>,
    /// Config map with `ca-bundle.crt`, trusted when images are fetched.
    #[serde(rename = "OSImageCACertRef", skip_serializing_if = "Option::is_none")]
    pub os_image_ca_cert_ref: Option<LocalObjectReference>,
    /// Volume of the database.
    pub database_storage: PersistentVolumeClaimSpec,
    /// Volume of the service's files.
    pub filesystem_storage: PersistentVolumeClaimSpec,
    /// Whether boot artifacts are served over plain HTTP too, for iPXE without TLS.
    #[serde(rename = "iPXEHTTPRoute", skip_serializing_if = "Option::is_none")]
    pub ipxe_http_route: Option<IpxeHttpRoute>,
    /// Volume of the image service's cache; without it the cache is ephemeral.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_storage: Option<PersistentVolumeClaimSpec>,
    /// Host names of the ingresses where there are no routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// Config map with `registries.conf` and, if wanted, `ca-bundle.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror_registry_ref: Option<LocalObjectReference>,
    /// Images of must-gather on offer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub must_gather_images: Vec<MustGatherImage>,
    /// Discovery images on offer; without them those that the operator knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub os_images: Vec<OsImage>,
    /// Registries that pull secrets need not name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unauthenticated_registries: Vec<String>,
}

/// Ingresses where there are no routes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Ingress {
    /// Host name of the service.
    pub assisted_service_hostname: String,
    /// Class of the ingresses.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub class_name: String,
    /// Host name of the image service.
    pub image_service_hostname: String,
}

/// An image of must-gather on offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MustGatherImage {
    /// Architecture of the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_architecture: Option<CpuArchitecture>,
    pub name: String,
    /// Version of OpenShift, as `x.y` or `x.y.z`.
    pub openshift_version: String,
    /// Where it is fetched from.
    pub url: String,
}

/// A discovery image on offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OsImage {
    /// Architecture of the CPU.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cpu_architecture: String,
    /// Version of OpenShift, as `x.y` or `x.y.z`.
    pub openshift_version: String,
    /// Where the root file system is; no longer used.
    #[serde(rename = "rootFSUrl", skip_serializing_if = "String::is_empty")]
    pub root_fs_url: String,
    /// Where it is fetched from.
    pub url: String,
    /// Version.
    pub version: String,
}

/// What runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentServiceConfigStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Annotations that were set first and can't change.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub immutable_annotations: BTreeMap<String, String>,
}

/// Whether there is a plain HTTP route for iPXE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpxeHttpRoute {
    #[default]
    #[serde(rename = "enabled")]
    Enabled,
    #[serde(rename = "disabled")]
    Disabled,
}
