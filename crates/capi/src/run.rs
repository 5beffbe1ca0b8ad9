//! How providers are run: one replica leads, until it is stopped or loses its lease.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use assisted_kube::lease::{self, Led, Settings};
use assisted_kube::watch::follow;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Config;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How long the objects of all kinds may take to be listed; kinds that are not defined never are.
pub(crate) const LISTING: Duration = Duration::from_secs(120);

/// Why a provider ends before it is told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("another replica leads: this one has lost the lease {0}")]
    LostLease(&'static str),
    #[error(
        "objects of these kinds can't be listed: {0}; check that their definitions are installed, and who may read them"
    )]
    NotListed(String),
    #[error("a watch ended")]
    Ended,
}

/// Does something while this replica leads.
pub(crate) async fn lead<F>(
    client: Client,
    lease: &'static str,
    settings: Settings,
    stop: &CancellationToken,
    work: impl FnOnce() -> F,
) -> Result<(), RunError>
where
    F: Future<Output = Result<(), RunError>>,
{
    match lease::lead(client, lease, settings, stop, work).await {
        Led::Never | Led::Stopped => Ok(()),
        Led::Ended(ended) => ended,
        Led::Lost => Err(RunError::LostLease(lease)),
    }
}

/// Keeps the copy of a kind, and has everything looked at that a change is about.
pub(crate) fn watch<K, P>(
    tasks: &mut JoinSet<()>,
    client: &Client,
    writer: Writer<K>,
    provider: &Arc<P>,
    changed: fn(&P, &K),
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    P: Send + Sync + 'static,
{
    let (api, provider) = (Api::<K>::all(client.clone()), Arc::clone(provider));
    tasks.spawn(async move {
        let told = |before: Option<&K>, after: Option<&K>| {
            for object in [before, after].into_iter().flatten() {
                changed(&provider, object);
            }
        };
        follow(api, Config::default(), writer, told).await;
    });
}

/// The name of a kind whose objects are not listed in time.
pub(crate) async fn unlisted_kind<K>(store: &Store<K>, deadline: Instant) -> Option<String>
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let listed = timeout_at(deadline, store.wait_until_ready()).await;
    listed.is_err().then(|| K::kind(&()).into_owned())
}
