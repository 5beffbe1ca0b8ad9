//! Which releases are offered: those that are configured, and those that the update service knows of
//! (install-generation §10.3).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assisted_config::Settings;
use assisted_core::policy::Policy;
use assisted_release::catalogue::Catalogue;
use assisted_release::{CatalogueError, Origins, Retry, Transport};
use assisted_wire::version::ReleaseImages;
use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::Service;

/// Below the service's folder: what was learned the last time.
const FILE: &str = "releases.json";

/// The policy with the releases that are offered now.
#[derive(Debug)]
pub(crate) struct Offered(RwLock<Arc<Policy>>);

impl Offered {
    /// What is configured.
    pub(crate) fn new(policy: &Arc<Policy>) -> Self {
        Self(RwLock::new(Arc::clone(policy)))
    }

    fn set(&self, releases: ReleaseImages) {
        let mut policy = (**self.0.read()).clone();
        policy.versions.release_images = releases;
        *self.0.write() = Arc::new(policy);
    }
}

/// The catalogue that the settings ask for, with its file in `dir`; `None` when nobody is to be asked.
///
/// # Errors
///
/// See [`CatalogueError`].
pub fn catalogue(settings: &Settings, dir: &Path) -> Result<Option<Catalogue>, CatalogueError> {
    let versions = &settings.versions;
    let offered = crate::policy::versions(versions);
    if versions.updates_url.is_empty() || offered.release_sources.0.is_empty() {
        return Ok(None);
    }
    let url = |name: &str, text: &str| {
        text.parse::<Url>().map_err(|error| CatalogueError::Settings(format!("{name}={text}: {error}")))
    };
    let origins = Origins {
        updates: url("OCM_BASE_URL", &versions.updates_url)?,
        life_cycles: url("RED_HAT_PRODUCT_LIFE_CYCLE_DATA_API_BASE_URL", &versions.life_cycles_url)?,
    };
    let catalogue = Catalogue::new(
        &Transport::default(),
        Retry::default(),
        origins,
        offered.release_sources.0,
        offered.release_images.0,
        &dir.join(FILE),
    );
    catalogue.map(Some)
}

impl Service {
    /// The policy, with the releases that are offered now.
    pub(crate) fn offered(&self) -> Arc<Policy> {
        Arc::clone(&self.0.offered.0.read())
    }

    /// Offers what the catalogue knows already, then what it learns, again and again until stopped.
    pub(crate) async fn follow_catalogue(self, catalogue: Catalogue, stop: CancellationToken) {
        let every = self.settings().versions.release_sync_interval.max(Duration::from_secs(1));
        let mut turns = tokio::time::interval(every);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = turns.tick() => {}
                () = stop.cancelled() => return,
            }
            tokio::select! {
                learned = catalogue.refresh() => match learned {
                    Ok(releases) => self.0.offered.set(releases),
                    Err(error) => {
                        tracing::warn!(%error, "releases can't be learned; those that are known are still offered");
                    }
                },
                () = stop.cancelled() => return,
            }
        }
    }

    /// Offers what is known without asking anybody.
    pub(crate) fn offer(&self, catalogue: &Catalogue) {
        self.0.offered.set(catalogue.known());
    }
}
