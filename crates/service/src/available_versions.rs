//! Which releases are offered: those that are configured, and those that the update service knows of
//! (install-generation §10.3).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assisted_config::Settings;
use assisted_core::policy::Policy;
use assisted_release::catalogue::Catalogue;
use assisted_release::{CatalogueError, Origins, Retry, Transport};
use assisted_wire::version::{ReleaseImage, ReleaseImages};
use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Below the service's folder: what was learned the last time.
const FILE: &str = "releases.json";

/// The policy with the releases that are offered now.
#[derive(Debug)]
pub(crate) struct AvailableVersions(RwLock<State>);

#[derive(Debug)]
struct State {
    policy: Arc<Policy>,
    /// Releases that are offered because their images were read, beside all others.
    read: Vec<ReleaseImage>,
}

impl AvailableVersions {
    /// What is configured.
    pub(crate) fn new(policy: &Arc<Policy>) -> Self {
        Self(RwLock::new(State { policy: Arc::clone(policy), read: Vec::new() }))
    }

    /// The policy, with the releases that are offered now.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.0.read().policy)
    }

    /// Offers other releases.
    pub(crate) fn set(&self, mut releases: ReleaseImages) {
        let mut state = self.0.write();
        releases.0.extend(state.read.iter().cloned());
        let mut policy = (*state.policy).clone();
        policy.versions.release_images = releases;
        state.policy = Arc::new(policy);
    }

    /// Offers a release besides, whose image was read.
    pub(crate) fn add(&self, release: ReleaseImage) {
        let mut state = self.0.write();
        let known = &state.policy.versions.release_images.0;
        if known.iter().any(|known| known.url == release.url) {
            return;
        }
        let mut policy = (*state.policy).clone();
        policy.versions.release_images.0.push(release.clone());
        state.policy = Arc::new(policy);
        state.read.push(release);
    }
}

/// The catalogue of releases that the settings ask for, with its file in `dir`; `None` when nobody is to be asked.
///
/// # Errors
///
/// See [`CatalogueError`].
pub fn open(settings: &Settings, dir: &Path) -> Result<Option<Catalogue>, CatalogueError> {
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

/// Offers what the catalogue learns, again and again until stopped.
pub(crate) async fn follow(
    available: Arc<AvailableVersions>,
    catalogue: Catalogue,
    every: Duration,
    stop: CancellationToken,
) {
    let mut turns = tokio::time::interval(every.max(Duration::from_secs(1)));
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = turns.tick() => {}
            () = stop.cancelled() => return,
        }
        tokio::select! {
            learned = catalogue.refresh() => match learned {
                Ok(releases) => available.set(releases),
                Err(error) => {
                    tracing::warn!(%error, "releases can't be learned; those that are known are still offered");
                }
            },
            () = stop.cancelled() => return,
        }
    }
}
