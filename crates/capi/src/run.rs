//! How providers are run: one replica leads, until it is stopped or loses its lease.

use std::time::Duration;

use assisted_kube::lease::{self, Led};
use kube::Client;
use tokio_util::sync::CancellationToken;

/// How long the objects of all kinds may take to be listed; kinds that are not defined never are.
pub(crate) const LISTING: Duration = Duration::from_secs(120);

/// How a provider is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the lease stands.
    pub namespace: String,
    /// Name of this replica.
    pub identity: String,
    /// How long the others wait until they take over.
    pub lease_duration: Duration,
    /// How long renewing is tried.
    pub renew_deadline: Duration,
    /// Between two tries.
    pub retry_interval: Duration,
}

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
    options: Options,
    stop: &CancellationToken,
    work: impl FnOnce() -> F,
) -> Result<(), RunError>
where
    F: Future<Output = Result<(), RunError>>,
{
    let settings = lease::Settings {
        namespace: options.namespace,
        name: lease.to_owned(),
        identity: options.identity,
        duration: options.lease_duration,
        deadline: options.renew_deadline,
        retry: options.retry_interval,
    };
    match lease::lead(client, settings, stop, work).await {
        Led::Never | Led::Stopped => Ok(()),
        Led::Ended(ended) => ended,
        Led::Lost => Err(RunError::LostLease(lease)),
    }
}
