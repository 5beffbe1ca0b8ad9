//! The overlay of an image, which is what one infra-env lays over a base image: fetched from the API service, and cached.
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
use bytes::Bytes;
use http::HeaderValue;
use moka::future::Cache;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{BaseImage, BaseImageError};
use crate::api::{ApiService, ErrorAnswer};
use crate::credential::Credential;

/// For so long nothing is asked again.
const FRESH: Duration = Duration::from_secs(5);

/// An earlier rendering is kept for so long after it was needed last, and in any case.
const IDLE: Duration = Duration::from_secs(10 * 60);
const KEPT: Duration = Duration::from_secs(3600);

/// Bytes of all renderings that are kept.
const MOST: u64 = 64 << 20;

/// A time of change that is as young as this may belong to two changes: times come in whole seconds.
const SETTLING: Duration = Duration::from_secs(2);

/// The kinds of image that are made of a base image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ImageKind {
    Full,
    Minimal,
    Disconnected,
    /// The initramfs that iPXE loads.
    Initrd,
}

impl ImageKind {
    /// The type that the Ignition config is asked for; none: the infra-env's own.
    pub fn iso_type(self) -> Option<&'static str> {
        match self {
            Self::Full => Some("full-iso"),
            Self::Minimal => Some("minimal-iso"),
            Self::Disconnected => Some("disconnected-iso"),
            Self::Initrd => None,
        }
    }
}

/// What is laid over a base image.
#[derive(Debug)]
pub(crate) struct Overlay {
    pub ignition: Archive,
    pub ramdisk: Option<Bytes>,
    pub kargs: Option<Vec<String>>,
    /// When the infra-env changed last.
    pub modified: SystemTime,
    /// The same as the API service wrote it.
    pub last_modified: Option<HeaderValue>,
    /// Digest of all its parts.
    pub digest: [u8; 32],
    /// Whether the time of change stands for exactly these parts.
    settled: bool,
}

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

impl Overlay {
    fn new(
        ignition: Archive,
        ramdisk: Option<Bytes>,
        kargs: Option<Vec<String>>,
        last_modified: Option<HeaderValue>,
        now: SystemTime,
    ) -> Self {
        let when = last_modified
            .as_ref()
            .and_then(|last_modified| httpdate::parse_http_date(last_modified.to_str().ok()?).ok());
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        };
        add(&ignition.bytes());
        add(ramdisk.as_deref().unwrap_or_default());
        kargs.iter().flatten().for_each(|karg| add(karg.as_bytes()));
        add(&[ramdisk.is_some().into(), kargs.is_some().into()]);
        Self {
            ignition,
            ramdisk,
            kargs,
            modified: when.unwrap_or(now),
            last_modified: when.and(last_modified),
            digest: digest.finalize().into(),
            settled: when.is_some_and(|when| now.duration_since(when).is_ok_and(|age| age > SETTLING)),
        }
    }

    fn weight(&self) -> u64 {
        self.ignition.len() + self.ramdisk.as_ref().map_or(0, |ramdisk| ramdisk.len() as u64) + 1024
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlay(last_modified: &str, now: &str) -> Overlay {
        let archive = Archive::new(b"{}").unwrap();
        let last_modified = HeaderValue::from_str(last_modified).unwrap();
        Overlay::new(archive, None, None, Some(last_modified), httpdate::parse_http_date(now).unwrap())
    }

    #[test]
    fn a_time_stands_for_one_state_once_its_second_is_over() {
        let now = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert!(overlay("Sun, 06 Nov 1994 08:49:30 GMT", now).settled);
        assert!(!overlay("Sun, 06 Nov 1994 08:49:36 GMT", now).settled);
        // A clock that goes before ours.
        assert!(!overlay("Sun, 06 Nov 1994 08:50:00 GMT", now).settled);
        let nonsense = overlay("yesterday", now);
        assert!(!nonsense.settled && nonsense.last_modified.is_none());
        assert_eq!(nonsense.modified, httpdate::parse_http_date(now).unwrap());
    }

    #[test]
    fn the_digest_tells_all_parts_apart() {
        let make = |ramdisk: Option<&'static [u8]>, kargs: Option<&[&str]>| {
            let kargs = kargs.map(|kargs| kargs.iter().map(|karg| (*karg).to_owned()).collect());
            let archive = Archive::new(b"{}").unwrap();
            Overlay::new(archive, ramdisk.map(Bytes::from_static), kargs, None, SystemTime::UNIX_EPOCH).digest
        };
        let all = [
            make(None, None),
            make(Some(b""), None),
            make(None, Some(&[])),
            make(Some(b"a"), None),
            make(None, Some(&["a"])),
            make(None, Some(&["a", "b"])),
            make(None, Some(&["ab"])),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all.iter().skip(index + 1).all(|other| one != other), "{index}");
        }
    }
}
