//! Where an API server finds webhooks.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{ServiceReference, WebhookClientConfig};

/// Where an API server finds the webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A service of the cluster, on port 443.
    Service { namespace: String, name: String },
    /// A URL, such as `https://192.0.2.1:9443`.
    Url(String),
}

impl Target {
    /// A service of a namespace.
    pub fn service(namespace: &str, name: &str) -> Self {
        Self::Service { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The names or addresses that the certificate is for.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Service { namespace, name } => {
                vec![format!("{name}.{namespace}.svc"), format!("{name}.{namespace}.svc.cluster.local")]
            }
            Self::Url(url) => {
                let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                let authority = rest.split('/').next().unwrap_or_default();
                let host = match authority.strip_prefix('[') {
                    Some(v6) => v6.split(']').next().unwrap_or_default(),
                    None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
                };
                vec![host.to_owned()]
            }
        }
    }

    /// What an API server is told of a webhook at a path, and of the authorities behind its certificate.
    pub fn client(&self, path: &str, ca_bundle: Option<&str>) -> WebhookClientConfig {
        let ca_bundle = ca_bundle.map(|text| ByteString(text.as_bytes().to_vec()));
        match self {
            Self::Service { namespace, name } => WebhookClientConfig {
                ca_bundle,
                service: Some(ServiceReference {
                    name: name.clone(),
                    namespace: namespace.clone(),
                    path: Some(path.to_owned()),
                    port: Some(443),
                }),
                url: None,
            },
            Self::Url(url) => WebhookClientConfig {
                ca_bundle,
                service: None,
                url: Some(format!("{}{path}", url.trim_end_matches('/'))),
            },
        }
    }
}
