//! The life of one base image, from nothing to ready.

use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

use assisted_base::error::chain;
use assisted_isokit::Layout;
use assisted_isokit::pxe::Thresholds;
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

use super::fetch::{FetchError, Fetcher};
use super::part::{Part, discard, remove};
use super::{Base, Stage, check, early, pause};
use crate::http::arrival;
use crate::image::{Medium, MediumError};
use crate::metrics::Metrics;

/// Bytes at the end of an image that nobody gets before the whole is known to be good.
const WITHHELD: u64 = 1 << 20;

/// What all base images share.
#[derive(Debug)]
pub(super) struct Shop {
    pub fetcher: Fetcher,
    pub slots: Semaphore,
    pub eager: bool,
    pub least: Thresholds,
    pub metrics: Metrics,
}

/// Why a base image is not ready.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Check(#[from] check::CheckError),
    #[error(transparent)]
    Medium(#[from] MediumError),
    #[error("the image can't be stored")]
    Disk(#[from] std::io::Error),
}

impl KeepError {
    /// Whether the image itself is bad.
    fn is_of_content(&self) -> bool {
        matches!(self, Self::Check(_) | Self::Medium(_))
    }
}

/// Brings a base image here, whatever it takes; ends when it is ready.
pub(super) async fn keep(base: Arc<Base>, shop: Arc<Shop>) {
    tell(&base, &shop);
    if let Some(medium) = present(&base).await {
        base.set(Stage::Ready(medium));
        return tell(&base, &shop);
    }
    if !shop.eager {
        base.wanted.notified().await;
    }
    loop {
        base.set(Stage::Queued);
        // Nobody closes it.
        let Ok(slot) = shop.slots.acquire().await else { return };
        // Another service may have brought it into the same folder meanwhile.
        let obtained = match present(&base).await {
            Some(medium) => Ok(medium),
            None => obtain(&base, &shop).await,
        };
        let error = match obtained {
            Ok(medium) => {
                tracing::info!(image = base.label, "a base image is ready");
                base.set(Stage::Ready(medium));
                return tell(&base, &shop);
            }
            Err(error) => error,
        };
        drop(slot);
        let wait = {
            let mut progress = base.progress.lock();
            progress.failures += 1;
            let wait = pause(progress.failures, error.is_of_content());
            let reason = chain(&error);
            tracing::error!(image = base.label, reason, retry = ?wait, "a base image is not available");
            progress.stage = Stage::Failed { reason, again: Instant::now() + wait };
            wait
        };
        tell(&base, &shop);
        tokio::time::sleep(wait).await;
    }
}

/// What is in the folder already; what can't be read is thrown away.
async fn present(base: &Arc<Base>) -> Option<Arc<Medium>> {
    if !base.path.exists() {
        return None;
    }
    match open(base).await {
        Ok(medium) => {
            let mut progress = base.progress.lock();
            (progress.received, progress.length) = (medium.size(), medium.size());
            drop(progress);
            tracing::info!(image = base.label, "a base image is here");
            Some(medium)
        }
        Err(_) if base.is_local() => None,
        Err(error) => {
            tracing::warn!(image = base.label, %error, "a base image can't be read, and is fetched again");
            if let Err(error) = remove(&base.path) {
                tracing::error!(image = base.label, %error, "it can't be removed either");
            }
            None
        }
    }
}

async fn obtain(base: &Arc<Base>, shop: &Shop) -> Result<Arc<Medium>, KeepError> {
    if base.is_local() {
        return Ok(open(base).await?);
    }
    base.set(Stage::Fetching(None));
    tracing::info!(image = base.label, "a base image is fetched");
    let (begun, begins) = watch::channel(None);
    let mut follower = Follower { base, shop, begun, told: None, tenths: 0 };
    let mut hear = |part: &Part| follower.hear(part);
    let fetched = tokio::select! {
        fetched = shop.fetcher.fetch(&base.image.url, &base.path, &mut hear) => fetched,
        never = early::offer(base, shop, begins) => match never {},
    };
    let told = follower.told;
    let done = match fetched {
        Ok(part) => finish(base, part, shop.least).await,
        Err(error) => Err(error.into()),
    };
    if let Some(told) = told {
        // Who reads along gets the rest, or is told that it does not come.
        told.send_replace(done.as_ref().ok().map(|medium| medium.size()));
    }
    done
}

/// Checks what has arrived, and gives it its name.
async fn finish(base: &Arc<Base>, mut part: Part, least: Thresholds) -> Result<Arc<Medium>, KeepError> {
    let image = base.image.clone();
    let file = Arc::clone(&part.file);
    let checked =
        spawn_blocking(move || check::check(&file, &image, least)).await.map_err(std::io::Error::other)?;
    let to = base.path.clone();
    if let Err(error) = checked {
        spawn_blocking(move || discard(&to)).await.map_err(std::io::Error::other)??;
        return Err(error.into());
    }
    spawn_blocking(move || part.finish(&to)).await.map_err(std::io::Error::other)??;
    Ok(open(base).await?)
}

async fn open(base: &Arc<Base>) -> Result<Arc<Medium>, MediumError> {
    let base = Arc::clone(base);
    let open = move || {
        let file = File::open(&base.path)?;
        let (length, modified) = (file.metadata()?.len(), file.metadata()?.modified()?);
        let layout = Layout::file(Arc::new(file), length);
        Medium::open(&base.image, base.support.clone(), layout, modified, None).map(Arc::new)
    };
    spawn_blocking(open).await.map_err(std::io::Error::other)?
}

/// Hears how an image arrives.
struct Follower<'a> {
    base: &'a Arc<Base>,
    shop: &'a Shop,
    begun: watch::Sender<Option<early::Begun>>,
    told: Option<watch::Sender<Option<u64>>>,
    /// Tenths of the image that were told in the log.
    tenths: u64,
}

impl Follower<'_> {
    fn hear(&mut self, part: &Part) {
        let (received, length) = (part.received, part.origin.length);
        {
            let mut progress = self.base.progress.lock();
            (progress.received, progress.length) = (received, length);
        }
        tell(self.base, self.shop);
        let tenths = (received * 10).checked_div(length).unwrap_or(0);
        if tenths > self.tenths {
            self.tenths = tenths;
            tracing::info!(image = self.base.label, received, length, "a base image arrives");
        }
        let told = self.told.get_or_insert_with(|| {
            let (told, arrival) = arrival(Arc::clone(&part.file));
            let (file, origin) = (Arc::clone(&part.file), part.origin.clone());
            self.begun.send_replace(Some(early::Begun { file, origin, arrival }));
            told
        });
        told.send_replace(Some(received.min(length.saturating_sub(WITHHELD))));
    }
}

fn tell(base: &Base, shop: &Shop) {
    let progress = base.progress.lock();
    let ready = matches!(progress.stage, Stage::Ready(_));
    shop.metrics.base(&base.label, progress.received, progress.length, ready);
}
