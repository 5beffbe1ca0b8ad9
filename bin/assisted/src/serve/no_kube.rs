//! A build without the Kubernetes API: it is refused where it is asked for.

use anyhow::{Result, bail};
use assisted_config::Settings;
use assisted_service::Service;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// There are no connections.
pub(super) enum Client {}

/// Refuses settings that ask for what is not there.
pub(super) fn check(settings: &Settings) -> Result<()> {
    if settings.kube.enabled {
        bail!(
            "ENABLE_KUBE_API is set, and this program was built without the Kubernetes API; build it with its default features, as \
             `cargo build --release` does"
        );
    }
    Ok(())
}

#[allow(clippy::unused_async, reason = "as with the Kubernetes API")]
pub(super) async fn connect(_: &Settings) -> Result<Option<Client>> {
    Ok(None)
}

#[allow(clippy::needless_pass_by_value, reason = "as with the Kubernetes API")]
pub(super) fn start(
    _: &Settings,
    client: Client,
    _: Service,
    _: &watch::Receiver<bool>,
    _: &mut JoinSet<Result<()>>,
) {
    match client {}
}
