//! HypershiftAgentServiceConfig: what the operator runs for custom resources in another cluster.

use k8s_openapi::api::core::v1::{LocalObjectReference, PersistentVolumeClaimSpec};
use serde::{Deserialize, Serialize};

use super::agent_service_config::{Ingress, IpxeHttpRoute, MustGatherImage, OsImage};
use crate::common::Condition;
use crate::resource::resource;

resource! {
    /// What the operator runs for custom resources in another cluster.
    HypershiftAgentServiceConfig, "agent-install.openshift.io", "v1beta1", "hypershiftagentserviceconfigs", Namespaced {
        spec: HypershiftAgentServiceConfigSpec,
        status: HypershiftAgentServiceConfigStatus,
    }
}

/// What is to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HypershiftAgentServiceConfigSpec {
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
    /// Secret with the kubeconfig of the hub's zero-worker cluster that holds the custom resources.
    pub kubeconfig_secret_ref: LocalObjectReference,
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

/// What runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HypershiftAgentServiceConfigStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
