//! Overlays of images, fetched from the API service and cached.
//!
//! Boards that offer an image as a virtual disc ask for thousands of small ranges. Two caches make that cheap, and make
//! the ranges of one download belong together:
//!
//! * For seconds, nothing is asked again for the same infra-env, kind of image *and credential*: the API service has accepted
//!   exactly that credential for exactly this. Many requests at the same time ask once.
//! * After that everything is asked again, and so authorised again. But as long as the API service reports the same time of
//!   the last change, the earlier rendering is served: a service that signs a new token into each config would otherwise
//!   change an image in the middle of its download.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use assisted_isokit::ignition::Archive;
use moka::future::Cache;
use uuid::Uuid;

use super::{BaseImage, BaseImageError, ImageKind, Overlay};
use crate::api::{ApiService, ErrorAnswer};
use crate::credential::Credential;

/// For so long nothing is asked again.
const FRESH: Duration = Duration::from_secs(5);

/// An earlier rendering is kept for so long after it was needed last, and in any case.
const IDLE: Duration = Duration::from_secs(10 * 60);
const KEPT: Duration = Duration::from_secs(3600);

/// Bytes of all renderings that are kept.
const MOST: u64 = 64 << 20;

/// What was asked of the API service when it did not answer well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Ignition,
    Ramdisk,
    InfraEnv,
}

/// Why there is no overlay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OverlayError {
    #[error("{step:?}: {}", refused.reason)]
    Api { step: Step, refused: ErrorAnswer },
    #[error(transparent)]
    BaseImage(#[from] BaseImageError),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    infra_env: Uuid,
    image_kind: ImageKind,
    credential: [u8; 32],
}

/// Which overlay.
pub(crate) struct OverlayRequest<'a> {
    pub infra_env: Uuid,
    pub image_kind: ImageKind,
    pub credential: &'a Credential,
    pub base_image: Option<&'a BaseImage>,
}

/// Fetches overlays, and caches them.
#[derive(Debug)]
pub(crate) struct OverlayCache {
    api: ApiService,
    fresh: Cache<Key, Arc<Overlay>>,
    kept: Cache<Key, Arc<Overlay>>,
}

impl OverlayCache {
    pub fn new(api: ApiService) -> Self {
        let cache = || {
            Cache::builder()
                .weigher(|_, overlay: &Arc<Overlay>| u32::try_from(overlay.weight()).unwrap_or(u32::MAX))
                .max_capacity(MOST)
        };
        Self {
            api,
            fresh: cache().time_to_live(FRESH).build(),
            kept: cache().time_to_idle(IDLE).time_to_live(KEPT).build(),
        }
    }

    /// The overlay of one image.
    ///
    /// # Errors
    ///
    /// What the API service refused, or what the base image lacks.
    pub async fn overlay(&self, request: &OverlayRequest<'_>) -> Result<Arc<Overlay>, Arc<OverlayError>> {
        let key = Key {
            infra_env: request.infra_env,
            image_kind: request.image_kind,
            credential: request.credential.digest(),
        };
        self.fresh.try_get_with(key.clone(), self.render(&key, request)).await
    }

    async fn render(&self, key: &Key, request: &OverlayRequest<'_>) -> Result<Arc<Overlay>, OverlayError> {
        let new = self.ask(request).await?;
        if let Some(kept) = self.kept.get(key).await {
            let same =
                kept.settled && kept.last_modified.is_some() && kept.last_modified == new.last_modified;
            if same {
                return Ok(kept);
            }
        }
        let new = Arc::new(new);
        self.kept.insert(key.clone(), Arc::clone(&new)).await;
        Ok(new)
    }

    /// The order is part of what other services expect (image-service §1.5, §1.6).
    async fn ask(&self, request: &OverlayRequest<'_>) -> Result<Overlay, OverlayError> {
        let OverlayRequest { infra_env, image_kind, credential, base_image } = *request;
        let failed = |step| move |refused| OverlayError::Api { step, refused };
        let ignition = self
            .api
            .ignition(infra_env, image_kind.iso_type(), credential)
            .await
            .map_err(failed(Step::Ignition))?;
        let (mut ramdisk, mut kargs) = (None, None);
        if let (ImageKind::Initrd, Some(base_image)) = (image_kind, base_image) {
            base_image.has_initrd()?;
        }
        if matches!(image_kind, ImageKind::Minimal | ImageKind::Initrd) {
            ramdisk = self.api.ramdisk(infra_env, credential).await.map_err(failed(Step::Ramdisk))?;
        }
        if image_kind != ImageKind::Initrd {
            kargs = self.api.kernel_arguments(infra_env, credential).await.map_err(failed(Step::InfraEnv))?;
        }
        let archive = Archive::new(&ignition.config).map_err(BaseImageError::from)?;
        Ok(Overlay::new(archive, ramdisk, kargs, ignition.modified, SystemTime::now()))
    }
}
