//! How providers are run: one replica leads, until it is stopped or loses its lease.

use std::time::Duration;

use assisted_kube::lease::{self, Led, Settings};
use kube::Client;
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
