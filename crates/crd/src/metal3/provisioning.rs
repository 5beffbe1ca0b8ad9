//! Provisioning: what of it is read.

use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// Settings of the cluster's own machinery for BareMetalHosts. Only the fields that are read here.
    Provisioning, "metal3.io", "v1alpha1", "provisionings", Cluster {
        spec: ProvisioningSpec,
    }
}

/// The settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProvisioningSpec {
    /// Whether virtual media come without TLS.
    #[serde(rename = "disableVirtualMediaTLS", skip_serializing_if = "Option::is_none")]
    pub disable_virtual_media_tls: Option<bool>,
    /// Address in the provisioning network.
    #[serde(rename = "provisioningIP", skip_serializing_if = "String::is_empty")]
    pub provisioning_ip: String,
    /// `Managed`, `Unmanaged` or `Disabled`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provisioning_network: String,
    /// Whether virtual media come by the external network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_media_via_external_network: Option<bool>,
    /// Whether BareMetalHosts of all namespaces count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watch_all_namespaces: Option<bool>,
}
