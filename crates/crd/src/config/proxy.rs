//! Proxy: how the cluster reaches the network outside.

use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// How the cluster reaches the network outside; there is one, named `cluster`.
    Proxy, "config.openshift.io", "v1", "proxies", Cluster {
        spec: ProxySpec,
        status: ProxyStatus,
    }
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProxySpec {
    /// Proxy of HTTP requests.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub http_proxy: String,
    /// Proxy of HTTPS requests.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub https_proxy: String,
    /// Names, domains and networks that are reached without, separated by commas.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
    /// What is fetched to see that it works.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readiness_endpoints: Vec<String>,
    /// Config map of `openshift-config` with certificates to trust.
    #[serde(rename = "trustedCA", skip_serializing_if = "Option::is_none")]
    pub trusted_ca: Option<ConfigMapNameReference>,
}

/// A config map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigMapNameReference {
    pub name: String,
}

/// What is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProxyStatus {
    /// Proxy of HTTP requests.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub http_proxy: String,
    /// Proxy of HTTPS requests.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub https_proxy: String,
    /// Names, domains and networks that are reached without, separated by commas.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub no_proxy: String,
}
