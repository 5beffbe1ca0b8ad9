//! Images from a base image that is still arriving.
//!
//! A live image has its directory at its beginning, and what the directory points to in the order of names: the kernel and
//! a boot configuration lie behind the root file system, which is nearly all of the image. So its end is fetched first,
//! and laid behind what arrives in order.

use std::convert::Infallible;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use assisted_isokit::{Extent, Layout};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::fetch_context::FetchContext;
use super::part::Origin;
use super::{Base, DownloadState};
use crate::http::Arrival;
use crate::image::{BaseImage, BaseImageError};

/// Bytes after which it is first tried to make images from what has arrived; then after twice as many, and so on.
const FIRST_LOOK: u64 = 1 << 20;

/// How much of the end is fetched first, at most, and as a part of the whole.
const TAIL: u64 = 32 << 20;
const TAIL_PART: u64 = 8;

/// An image whose first bytes arrive.
#[derive(Clone, Debug)]
pub(super) struct StartedDownload {
    pub file: Arc<File>,
    pub origin: Origin,
    pub arrival: Arrival,
}

/// Offers an image for others to be made from as soon as there is enough of it.
pub(super) async fn offer(
    base: &Arc<Base>,
    context: &FetchContext,
    mut begins: watch::Receiver<Option<StartedDownload>>,
) -> Infallible {
    if let Some(base_image) = wait(base, context, &mut begins).await {
        tracing::info!(image = base.label, "images can be made while the base arrives");
        base.set(DownloadState::Fetching(Some(Arc::new(base_image))));
    }
    std::future::pending().await
}

async fn wait(
    base: &Arc<Base>,
    context: &FetchContext,
    begins: &mut watch::Receiver<Option<StartedDownload>>,
) -> Option<BaseImage> {
    let begun = begins.wait_for(Option::is_some).await.ok()?.clone()?;
    let StartedDownload { file, origin, mut arrival } = begun;
    let length = origin.length;
    let mut layout = Layout::file(Arc::clone(&file), length);
    let mut look = FIRST_LOOK;
    let mut tailed = false;
    loop {
        arrival.reach(&file, look - 1, look).await.ok()?;
        match open(base, &layout, &arrival).await {
            Ok(base_image) => return Some(base_image),
            Err(error) => tracing::debug!(image = base.label, %error, "not enough to make images from"),
        }
        if tailed {
            look = look.saturating_mul(2);
            continue;
        }
        tailed = true;
        let from = length - (length / TAIL_PART).min(TAIL);
        let dir = base.path.parent().unwrap_or(Path::new("."));
        match context.fetcher.tail(&base.image.url, dir, &origin, from).await {
            Ok(tail) => {
                layout = layout.part(0..from);
                layout.push(Extent::file(tail, 0, length - from));
            }
            Err(error) => tracing::debug!(image = base.label, %error, "the end does not come first"),
        }
    }
}

async fn open(base: &Arc<Base>, layout: &Layout, arrival: &Arrival) -> Result<BaseImage, BaseImageError> {
    let (base, layout, arrival) = (Arc::clone(base), layout.clone(), Some(arrival.clone()));
    let open = move || {
        let base_image =
            BaseImage::open(&base.image, base.support.clone(), layout, SystemTime::now(), arrival)?;
        base_image.is_complete().map(|()| base_image)
    };
    spawn_blocking(open).await.map_err(std::io::Error::other)?
}
