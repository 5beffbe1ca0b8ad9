//! APIServer: what of it is read.

use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// Settings of the cluster's API; there is one, named `cluster`. Only the fields that are read here.
    APIServer, "config.openshift.io", "v1", "apiservers", Cluster {
        spec: APIServerSpec,
    }
}

/// The settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct APIServerSpec {
    /// Which versions and ciphers of TLS are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_security_profile: Option<TlsSecurityProfile>,
}

/// Versions and ciphers of TLS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TlsSecurityProfile {
    /// What `Custom` stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomTlsProfile>,
    /// `Old`, `Intermediate`, `Modern` or `Custom`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub r#type: String,
}

/// Versions and ciphers of TLS of one's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CustomTlsProfile {
    /// Ciphers, by the names of OpenSSL.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ciphers: Vec<String>,
    /// `VersionTLS10` to `VersionTLS13`.
    #[serde(rename = "minTLSVersion", skip_serializing_if = "String::is_empty")]
    pub min_tls_version: String,
}
