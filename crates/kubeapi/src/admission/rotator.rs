//! Keeps what API servers know of the webhooks: their configurations.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use assisted_kube::error::optional;
use assisted_kube::watch::events;
use assisted_kube::write::{self, Guard};
use futures::stream::{Stream, StreamExt};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::{ByteString, ClusterResourceScope};
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::NAME;
use super::configuration::{self, Configuration, Target};
use super::tls::Certified;
pub use crate::webhook_server::rotator::RotationError;
use crate::webhook_server::rotator::{self, MANAGER, WebhookRegistration};

/// What of the configurations is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configurations {
    /// All of them are made and kept as a whole.
    Own,
    /// Somebody else makes them; only the bundle of authorities is filled in.
    Bundle,
}

/// The configurations of all webhooks.
pub struct RegisteredWebhooks {
    target: Target,
    configurations: Configurations,
}

/// Keeps the certificate fresh, and the configurations in place.
pub type CertificateRotator = rotator::CertificateRotator<RegisteredWebhooks>;

impl CertificateRotator {
    /// Keeps the certificate in the secret of this namespace that has the usual name, and shows it by `certified`.
    pub fn new(
        client: Client,
        namespace: &str,
        target: Target,
        configurations: Configurations,
        certified: Arc<Certified>,
    ) -> Self {
        Self::of(client, [namespace, NAME], RegisteredWebhooks { target, configurations }, certified)
    }
}

impl WebhookRegistration for RegisteredWebhooks {
    fn names(&self) -> Vec<String> {
        self.target.names()
    }

    fn events(&self, client: &Client) -> Vec<Pin<Box<dyn Stream<Item = ()> + Send>>> {
        let labels = watcher::Config::default().labels(&format!("app={NAME}"));
        let validating: Api<PartialObjectMeta<ValidatingWebhookConfiguration>> = Api::all(client.clone());
        let mutating: Api<PartialObjectMeta<MutatingWebhookConfiguration>> = Api::all(client.clone());
        let validating = events(validating, labels.clone());
        let mutating = events(mutating, labels);
        vec![validating.map(drop).boxed(), mutating.map(drop).boxed()]
    }

    async fn register(&self, client: &Client, bundle: &str) -> Result<(), kube::Error> {
        for configuration in configuration::configurations(&self.target, Some(bundle)) {
            match configuration {
                Configuration::Validating(wanted) => {
                    let fill = |found: &mut ValidatingWebhookConfiguration, bundle: &ByteString| {
                        for webhook in found.webhooks.iter_mut().flatten() {
                            webhook.client_config.ca_bundle = Some(bundle.clone());
                        }
                    };
                    self.place_one(client, &wanted, fill, bundle).await?;
                }
                Configuration::Mutating(wanted) => {
                    let fill = |found: &mut MutatingWebhookConfiguration, bundle: &ByteString| {
                        for webhook in found.webhooks.iter_mut().flatten() {
                            webhook.client_config.ca_bundle = Some(bundle.clone());
                        }
                    };
                    self.place_one(client, &wanted, fill, bundle).await?;
                }
            }
        }
        Ok(())
    }
}

impl RegisteredWebhooks {
    async fn place_one<K>(
        &self,
        client: &Client,
        wanted: &K,
        fill: impl Fn(&mut K, &ByteString),
        bundle: &str,
    ) -> Result<(), kube::Error>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Serialize
            + DeserializeOwned
            + Clone
            + Debug,
    {
        let api: Api<K> = Api::all(client.clone());
        let name = wanted.meta().name.clone().unwrap_or_default();
        if self.configurations == Configurations::Own {
            api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(wanted)).await?;
            return Ok(());
        }
        let Some(found) = optional(api.get(&name).await)? else { return Ok(()) };
        let mut after = found.clone();
        fill(&mut after, &ByteString(bundle.as_bytes().to_vec()));
        write::object(&api, &found, &after, Guard::Version).await?;
        Ok(())
    }
}
