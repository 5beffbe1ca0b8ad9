//! The task that downloads one base image, from nothing to ready.

use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

use assisted_base::error::chain;
use assisted_isokit::Layout;
use assisted_isokit::pxe::Thresholds;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::fetch::FetchError;
use super::fetch_context::FetchContext;
use super::part::{Part, discard, remove};
use super::{Base, DownloadState, check, pause, while_downloading};
use crate::http::arrival;
use crate::image::{BaseImage, BaseImageError};

/// Bytes at the end of an image that nobody gets before the whole is known to be good.
const WITHHELD: u64 = 1 << 20;

/// Why a base image is not ready.
#[derive(Debug, thiserror::Error)]
enum DownloadError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Check(#[from] check::CheckError),
    #[error(transparent)]
    BaseImage(#[from] BaseImageError),
    #[error("the image can't be stored")]
    Disk(#[from] std::io::Error),
}

impl DownloadError {
    /// Whether the image itself is bad.
    fn is_of_content(&self) -> bool {
        matches!(self, Self::Check(_) | Self::BaseImage(_))
    }
}

/// Downloads a base image, trying again as often as it takes; ends when the image is ready.
pub(super) async fn download(base: Arc<Base>, context: Arc<FetchContext>) {
    report_progress(&base, &context);
    if let Some(base_image) = present(&base).await {
        base.set(DownloadState::Ready(base_image));
        return report_progress(&base, &context);
    }
    if !context.eager {
        base.wanted.notified().await;
    }
    loop {
        base.set(DownloadState::Queued);
        // Nobody closes it.
        let Ok(slot) = context.slots.acquire().await else { return };
        // Another service may have brought it into the same folder meanwhile.
        let obtained = match present(&base).await {
            Some(base_image) => Ok(base_image),
            None => obtain(&base, &context).await,
        };
        let error = match obtained {
            Ok(base_image) => {
                tracing::info!(image = base.label, "a base image is ready");
                base.set(DownloadState::Ready(base_image));
                return report_progress(&base, &context);
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
            progress.stage = DownloadState::Failed { reason, again: Instant::now() + wait };
            wait
        };
        report_progress(&base, &context);
        tokio::time::sleep(wait).await;
    }
}

/// The image, if it is in the folder already; one that can't be read is thrown away.
async fn present(base: &Arc<Base>) -> Option<Arc<BaseImage>> {
    if !base.path.exists() {
        return None;
    }
    match open(base).await {
        Ok(base_image) => {
            let mut progress = base.progress.lock();
            (progress.received, progress.length) = (base_image.size(), base_image.size());
            drop(progress);
            tracing::info!(image = base.label, "a base image is here");
            Some(base_image)
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

async fn obtain(base: &Arc<Base>, context: &FetchContext) -> Result<Arc<BaseImage>, DownloadError> {
    if base.is_local() {
        return Ok(open(base).await?);
    }
    base.set(DownloadState::Fetching(None));
    tracing::info!(image = base.label, "a base image is fetched");
    let (begun, begins) = watch::channel(None);
    let mut follower = Follower { base, context, begun, written: None, tenths: 0 };
    let mut on_progress = |part: &Part| follower.on_progress(part);
    let fetched = tokio::select! {
        fetched = context.fetcher.fetch(&base.image.url, &base.path, &mut on_progress) => fetched,
        never = while_downloading::offer(base, context, begins) => match never {},
    };
    let written = follower.written;
    let done = match fetched {
        Ok(part) => finish(base, part, context.least).await,
        Err(error) => Err(error.into()),
    };
    if let Some(written) = written {
        // Who reads along gets the rest, or hears that it does not come.
        written.send_replace(done.as_ref().ok().map(|base_image| base_image.size()));
    }
    done
}

/// Checks what has arrived, and gives it its name.
async fn finish(
    base: &Arc<Base>,
    mut part: Part,
    least: Thresholds,
) -> Result<Arc<BaseImage>, DownloadError> {
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

async fn open(base: &Arc<Base>) -> Result<Arc<BaseImage>, BaseImageError> {
    let base = Arc::clone(base);
    let open = move || {
        let file = File::open(&base.path)?;
        let (length, modified) = (file.metadata()?.len(), file.metadata()?.modified()?);
        let layout = Layout::file(Arc::new(file), length);
        BaseImage::open(&base.image, base.support.clone(), layout, modified, None).map(Arc::new)
    };
    spawn_blocking(open).await.map_err(std::io::Error::other)?
}

/// Follows how an image arrives.
struct Follower<'a> {
    base: &'a Arc<Base>,
    context: &'a FetchContext,
    begun: watch::Sender<Option<while_downloading::StartedDownload>>,
    written: Option<watch::Sender<Option<u64>>>,
    /// Tenths of the image that stand in the log.
    tenths: u64,
}

impl Follower<'_> {
    fn on_progress(&mut self, part: &Part) {
        let (received, length) = (part.received, part.origin.length);
        {
            let mut progress = self.base.progress.lock();
            (progress.received, progress.length) = (received, length);
        }
        report_progress(self.base, self.context);
        let tenths = (received * 10).checked_div(length).unwrap_or(0);
        if tenths > self.tenths {
            self.tenths = tenths;
            tracing::info!(image = self.base.label, received, length, "a base image arrives");
        }
        let written = self.written.get_or_insert_with(|| {
            let (written, arrival) = arrival(Arc::clone(&part.file));
            let (file, origin) = (Arc::clone(&part.file), part.origin.clone());
            self.begun.send_replace(Some(while_downloading::StartedDownload { file, origin, arrival }));
            written
        });
        written.send_replace(Some(received.min(length.saturating_sub(WITHHELD))));
    }
}

fn report_progress(base: &Base, context: &FetchContext) {
    let progress = base.progress.lock();
    let ready = matches!(progress.stage, DownloadState::Ready(_));
    context.metrics.base(&base.label, progress.received, progress.length, ready);
}
