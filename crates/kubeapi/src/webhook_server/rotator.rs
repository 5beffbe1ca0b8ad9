//! Rotates the certificate of webhooks in a secret, which all replicas share, and has API servers trust it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Attempts, Backoff, Jitter};
use assisted_kube::error::{is_conflict, optional};
use assisted_kube::watch::events;
use futures::stream::{self, Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::certificate::{self, CertificateError, Stored};
use super::tls::{Certified, TlsError};

/// Under which name fields are owned.
pub const MANAGER: &str = "assisted-webhook";

/// How long one pass may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A pass without a cause: a watch that got lost costs no more than this.
const RESYNC: Duration = Duration::from_secs(10 * 60);

const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(30), jitter: Jitter::Half };

/// The first passes, before there is a certificate.
const FIRST_ATTEMPTS: u32 = 12;
const FIRST_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(10), jitter: Jitter::Half };

/// The objects by which API servers know the webhooks and trust their certificate.
pub trait WebhookRegistration: Send + Sync + 'static {
    /// The names or addresses that the certificate is for.
    fn names(&self) -> Vec<String>;

    /// Streams that have an item whenever one of these objects has changed.
    fn events(&self, client: &Client) -> Vec<Pin<Box<dyn Stream<Item = ()> + Send>>>;

    /// Writes these objects, so that API servers ask, and trust the authorities of a bundle in PEM form.
    fn register(&self, client: &Client, bundle: &str)
    -> impl Future<Output = Result<(), kube::Error>> + Send;
}

/// Keeps the certificate fresh, and trusted.
pub struct CertificateRotator<T> {
    client: Client,
    namespace: String,
    /// Of the secret.
    name: String,
    registration: T,
    certified: Arc<Certified>,
}

/// Why a pass came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error("the API server refused")]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("another replica wrote the certificate first")]
    Conflict,
    #[error("it took longer than {} s", TIMEOUT.as_secs())]
    Timeout,
}

impl<T: WebhookRegistration> CertificateRotator<T> {
    /// Keeps the certificate in a secret of a namespace, and shows it by `certified`.
    pub fn of(
        client: Client,
        [namespace, name]: [&str; 2],
        registration: T,
        certified: Arc<Certified>,
    ) -> Self {
        Self { client, namespace: namespace.to_owned(), name: name.to_owned(), registration, certified }
    }

    /// There is no certificate before the first pass: it is tried for a while.
    ///
    /// # Errors
    /// What stood in the way last.
    pub async fn first_reconcile(&self) -> Result<(), String> {
        let mut attempts = Attempts::new(FIRST_ATTEMPTS, FIRST_BACKOFF);
        loop {
            match self.reconcile().await {
                Ok(_) => return Ok(()),
                Err(error) => attempts.again(assisted_base::error::chain(&error)).await?,
            }
        }
    }

    /// Works until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let mut events = self.events();
        let mut failures = 0;
        loop {
            let pause = match timeout(TIMEOUT, self.reconcile()).await.unwrap_or(Err(RotationError::Timeout))
            {
                Ok(at) => {
                    failures = 0;
                    Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default().min(RESYNC)
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
                () = sleep(pause) => {}
                // One pass for what comes together.
                Some(()) = events.next(), if failures == 0 => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Something changed that a pass would read.
    fn events(&self) -> Pin<Box<dyn Stream<Item = ()> + Send>> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let own = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let mut all = self.registration.events(&self.client);
        all.push(events(secrets, own).map(drop).boxed());
        Box::pin(stream::select_all(all))
    }

    /// Brings everything to where it should be; tells when the next pass is due.
    ///
    /// # Errors
    /// The API server refuses, or another replica was faster.
    pub async fn reconcile(&self) -> Result<Timestamp, RotationError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let mut secret = optional(secrets.get(&self.name).await)?;
        let names = self.registration.names();
        let mut in_place = false;
        loop {
            let stored = secret.as_ref().and_then(stored);
            let step = certificate::next(stored.as_ref(), &names, Timestamp::now(), in_place)?;
            let is_written = step.store.is_some();
            if let Some(store) = &step.store {
                secret = Some(store_secret(&secrets, &self.name, secret.as_ref(), store).await?);
            }
            let Some(current) = step.store.or(stored) else { return Ok(step.look_at) };
            self.certified.set(current.certificate.as_bytes(), current.key.expose().as_bytes())?;
            if !in_place || is_written {
                self.registration.register(&self.client, &current.bundle).await?;
            }
            if in_place {
                return Ok(step.look_at);
            }
            in_place = true;
        }
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
    name: &str,
    found: Option<&Secret>,
    store: &Stored,
) -> Result<Secret, RotationError> {
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
        api.replace(name, &params, &secret).await
    } else {
        secret.metadata.name = Some(name.to_owned());
        secret.metadata.labels = Some(BTreeMap::from([("app".to_owned(), name.to_owned())]));
        secret.type_ = Some("kubernetes.io/tls".to_owned());
        api.create(&params, &secret).await
    };
    written.map_err(|error| if is_conflict(&error) { RotationError::Conflict } else { error.into() })
}
