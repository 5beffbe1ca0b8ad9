//! Keeps the certificate of the webhooks in a secret, which all replicas share, and what API servers know of it in the
//! configurations.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_kube::error::{is_conflict, optional};
use assisted_kube::watch::events;
use assisted_kube::write::{self, Guard};
use futures::stream::{self, Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::{ByteString, ClusterResourceScope};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::NAME;
use super::certificate::{self, CertificateError, Stored};
use super::configuration::{self, Configuration, Target};
use super::tls::{Certified, TlsError};

/// Under which name fields are owned.
const MANAGER: &str = "assisted-webhook";

/// How long one look may take.
const LOOK: Duration = Duration::from_secs(60);

/// A look without a cause: a watch that got lost costs no more than this.
const REST: Duration = Duration::from_secs(10 * 60);

const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(30), jitter: Jitter::Half };

/// What of the configurations is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configurations {
    /// All of them are made and kept as a whole.
    Own,
    /// Somebody else makes them; only the bundle of authorities is filled in.
    Bundle,
}

/// Keeps certificate and configurations.
pub struct Keeper {
    client: Client,
    namespace: String,
    target: Target,
    configurations: Configurations,
    certified: Arc<Certified>,
}

/// Why a look came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("the API server refused")]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("another replica wrote the certificate first")]
    Conflict,
    #[error("it took longer than {} s", LOOK.as_secs())]
    Timeout,
}

impl Keeper {
    /// Keeps the certificate in the secret of this namespace that has the usual name, and shows it by `certified`.
    pub fn new(
        client: Client,
        namespace: &str,
        target: Target,
        configurations: Configurations,
        certified: Arc<Certified>,
    ) -> Self {
        Self { client, namespace: namespace.to_owned(), target, configurations, certified }
    }

    /// Works until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let mut events = self.events();
        let mut failures = 0;
        loop {
            let rest = match timeout(LOOK, self.look()).await.unwrap_or(Err(KeepError::Timeout)) {
                Ok(at) => {
                    failures = 0;
                    Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default().min(REST)
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(
                        error = assisted_base::error::chain(&error),
                        "the certificate can't be kept"
                    );
                    BACKOFF.pause(failures)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(rest) => {}
                // What comes together is looked at together.
                Some(()) = events.next(), if failures == 0 => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Something changed that is looked at.
    fn events(&self) -> Pin<Box<dyn Stream<Item = ()> + Send>> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let secrets = events(secrets, watcher::Config::default().fields(&format!("metadata.name={NAME}")));
        let labels = watcher::Config::default().labels(&format!("app={NAME}"));
        let validating: Api<PartialObjectMeta<ValidatingWebhookConfiguration>> =
            Api::all(self.client.clone());
        let mutating: Api<PartialObjectMeta<MutatingWebhookConfiguration>> = Api::all(self.client.clone());
        let validating = events(validating, labels.clone());
        let mutating = events(mutating, labels);
        let all = [secrets.map(drop).boxed(), validating.map(drop).boxed(), mutating.map(drop).boxed()];
        Box::pin(stream::select_all(all))
    }

    /// Brings everything to where it should be; tells when to look again.
    ///
    /// # Errors
    /// The API server refuses, or another replica was faster.
    pub async fn look(&self) -> Result<Timestamp, KeepError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut secret = optional(secrets.get(NAME).await)?;
        let names = self.target.names();
        let mut in_place = false;
        loop {
            let stored = secret.as_ref().and_then(stored);
            let step = certificate::next(stored.as_ref(), &names, Timestamp::now(), in_place)?;
            let is_written = step.store.is_some();
            if let Some(store) = &step.store {
                secret = Some(store_secret(&secrets, secret.as_ref(), store).await?);
            }
            let Some(current) = step.store.or(stored) else { return Ok(step.look_at) };
            self.certified.set(current.certificate.as_bytes(), current.key.expose().as_bytes())?;
            if !in_place || is_written {
                self.place(&current.bundle).await?;
            }
            if in_place {
                return Ok(step.look_at);
            }
            in_place = true;
        }
    }

    /// Makes API servers trust the bundle.
    async fn place(&self, bundle: &str) -> Result<(), KeepError> {
        for configuration in configuration::configurations(&self.target, Some(bundle)) {
            match configuration {
                Configuration::Validating(wanted) => {
                    let fill = |found: &mut ValidatingWebhookConfiguration, bundle: &ByteString| {
                        for webhook in found.webhooks.iter_mut().flatten() {
                            webhook.client_config.ca_bundle = Some(bundle.clone());
                        }
                    };
                    self.place_one(&wanted, fill, bundle).await?;
                }
                Configuration::Mutating(wanted) => {
                    let fill = |found: &mut MutatingWebhookConfiguration, bundle: &ByteString| {
                        for webhook in found.webhooks.iter_mut().flatten() {
                            webhook.client_config.ca_bundle = Some(bundle.clone());
                        }
                    };
                    self.place_one(&wanted, fill, bundle).await?;
                }
            }
        }
        Ok(())
    }

    async fn place_one<K>(
        &self,
        wanted: &K,
        fill: impl Fn(&mut K, &ByteString),
        bundle: &str,
    ) -> Result<(), KeepError>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Serialize
            + DeserializeOwned
            + Clone
            + Debug,
    {
        let api: Api<K> = Api::all(self.client.clone());
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

/// Members of the secret.
const BUNDLE: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

fn stored(secret: &Secret) -> Option<Stored> {
    let data = secret.data.as_ref()?;
    let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
    Some(Stored {
        bundle: text(BUNDLE)?,
        authority_key: text(AUTHORITY_KEY)?.into(),
        certificate: text(CERTIFICATE)?,
        key: text(KEY)?.into(),
    })
}

async fn store_secret(
    api: &Api<Secret>,
    found: Option<&Secret>,
    store: &Stored,
) -> Result<Secret, KeepError> {
    let members = [
        (BUNDLE, store.bundle.as_str()),
        (AUTHORITY_KEY, store.authority_key.expose()),
        (CERTIFICATE, store.certificate.as_str()),
        (KEY, store.key.expose()),
    ];
    let data = members.map(|(name, text)| (name.to_owned(), ByteString(text.as_bytes().to_vec()))).into();
    let mut secret = found.cloned().unwrap_or_default();
    secret.data = Some(data);
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let written = if found.is_some() {
        api.replace(NAME, &params, &secret).await
    } else {
        secret.metadata.name = Some(NAME.to_owned());
        secret.metadata.labels = Some(configuration::labels());
        secret.type_ = Some("kubernetes.io/tls".to_owned());
        api.create(&params, &secret).await
    };
    written.map_err(|error| if is_conflict(&error) { KeepError::Conflict } else { error.into() })
}
