//! Downloads from the service, with an authority that may stand in an object of the hub. The authority is read anew for each download:
//! one that is replaced counts at once.

use std::time::Duration;

use assisted_base::http::{Proxies, Trust, authorities, builder, read};
use assisted_kube::error::optional;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use parking_lot::Mutex;

/// How long a download may take.
const LIMIT: Duration = Duration::from_secs(60);
/// The most bytes of a discovery's Ignition config.
const MOST: usize = 8 << 20;

/// Where an authority stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    pub source: Source,
    pub namespace: String,
    pub name: String,
    /// Member with certificates in PEM form.
    pub key: String,
    /// Whether downloads fail where it is missing.
    pub required: bool,
}

/// The kind of the object in which an authority stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Secret,
    ConfigMap,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::ConfigMap => "configmap",
        }
    }
}

/// Downloads.
pub(super) struct Downloads {
    client: Client,
    authority: Option<Authority>,
    /// The HTTP client with the authority that it was made for.
    made: Mutex<Option<(Option<Vec<u8>>, reqwest::Client)>>,
}

impl Downloads {
    pub(super) fn new(client: Client, authority: Option<Authority>) -> Self {
        Self { client, authority, made: Mutex::new(None) }
    }

    /// What is at an address, whose query is told to nobody.
    pub(super) async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let text = match &self.authority {
            Some(authority) => self.authority_text(authority).await?,
            None => None,
        };
        let place = url.split_once('?').map_or(url, |(place, _)| place);
        let told = |error: reqwest::Error| {
            format!(
                "ignition request to {place} failed: {}",
                assisted_base::error::chain(&error.without_url())
            )
        };
        let mut answer = self.http(text)?.get(url).timeout(LIMIT).send().await.map_err(told)?;
        if !answer.status().is_success() {
            return Err(format!("ignition request to {place} returned status {}", answer.status().as_u16()));
        }
        read(&mut answer, MOST).await.map_err(|error| match error {
            assisted_base::http::BodyError::Broken(error) => told(error),
            other => other.to_string(),
        })
    }

    /// The HTTP client that trusts an authority; made anew when that is another.
    fn http(&self, text: Option<Vec<u8>>) -> Result<reqwest::Client, String> {
        let mut made = self.made.lock();
        if let Some((known, client)) = made.as_ref()
            && *known == text
        {
            return Ok(client.clone());
        }
        let trust = match (&text, &self.authority) {
            (Some(text), Some(authority)) => match authorities(text) {
                Ok(authorities) => Trust::Also(authorities),
                Err(_) => {
                    let Authority { source, namespace, name, .. } = authority;
                    let kind = source.name();
                    return Err(format!(
                        "failed to append additional certificates of {kind} {namespace}/{name}"
                    ));
                }
            },
            _ => Trust::System,
        };
        let client = builder("assisted-capi", trust, &Proxies::FromEnvironment)
            .and_then(reqwest::ClientBuilder::build)
            .map_err(|error| assisted_base::error::chain(&error))?;
        *made = Some((text, client.clone()));
        Ok(client)
    }

    async fn authority_text(&self, authority: &Authority) -> Result<Option<Vec<u8>>, String> {
        let Authority { source, namespace, name, key, required } = authority;
        let kind = source.name();
        let member = match source {
            Source::Secret => {
                let found =
                    optional(Api::<Secret>::namespaced(self.client.clone(), namespace).get(name).await);
                found.map(|found| {
                    found.map(|secret| secret.data.and_then(|mut data| data.remove(key)).map(|value| value.0))
                })
            }
            Source::ConfigMap => {
                let found =
                    optional(Api::<ConfigMap>::namespaced(self.client.clone(), namespace).get(name).await);
                found.map(|found| {
                    found.map(|map| map.data.and_then(|mut data| data.remove(key)).map(String::into_bytes))
                })
            }
        };
        let cause = |error: &kube::Error| assisted_base::error::chain(error);
        let member = member.map_err(|error| {
            format!("failed to retrieve cert from {kind} {namespace}/{name}: {}", cause(&error))
        })?;
        match member {
            None if *required => {
                Err(format!("failed to retrieve cert from {kind} {namespace}/{name}: there is none"))
            }
            None => Ok(None),
            Some(None) => Err(format!("key {key} not found in {kind} {namespace}/{name}")),
            Some(Some(text)) => Ok(Some(text)),
        }
    }
}
