//! Waiting for something to become true. What is waited for is looked at once before anything else, so that whoever is
//! stopped still tells the service what it has to tell.

use std::fmt;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Why nothing came of it; the texts are part of what the service is told (installer-and-controller §B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GaveUp {
    TimedOut,
    Cancelled,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "context deadline exceeded",
            Self::Cancelled => "context canceled",
        })
    }
}

/// Looks every so often until something is found, the limit has passed, or it is to stop.
pub(crate) async fn until<T>(
    stop: &CancellationToken,
    every: Duration,
    limit: Option<Duration>,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> Result<T, GaveUp> {
    let deadline = limit.map(|limit| Instant::now() + limit);
    loop {
        if let Some(found) = look().await {
            return Ok(found);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(GaveUp::TimedOut);
        }
        if pause(stop, every).await {
            return Err(GaveUp::Cancelled);
        }
    }
}

/// Sleeps; true when it was to stop meanwhile, or before.
pub(crate) async fn pause(stop: &CancellationToken, duration: Duration) -> bool {
    stop.run_until_cancelled(sleep(duration)).await.is_none()
}

/// When to look again: soon after something has changed, or after the usual time.
pub(crate) struct Pulse {
    changes: BoxStream<'static, ()>,
    usual: Duration,
    least: Duration,
}

impl Pulse {
    /// Beats with the changes of objects.
    pub(crate) fn of<K>(api: Api<K>, usual: Duration, least: Duration) -> Self
    where
        K: Resource + Clone + DeserializeOwned + fmt::Debug + Send + 'static,
    {
        // A watch that breaks begins again; meanwhile the usual time does.
        let watch = watcher(api, watcher::Config::default()).default_backoff();
        let changes = watch.filter_map(async |event| event.ok().map(drop)).chain(stream::pending()).boxed();
        Self { changes, usual, least }
    }

    /// Waits for the next beat; false when it is to stop.
    pub(crate) async fn next(&mut self, stop: &CancellationToken) -> bool {
        let Self { changes, usual, least } = self;
        let beat = async {
            let change = async {
                sleep(*least).await;
                changes.next().await
            };
            tokio::select! { _ = change => {}, () = sleep(*usual) => {} }
        };
        let goes_on = stop.run_until_cancelled(beat).await.is_some();
        // The pass that follows sees them all.
        while changes.next().now_or_never().flatten().is_some() {}
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_looks_once_even_when_it_is_to_stop() {
        let stop = CancellationToken::new();
        stop.cancel();
        let second = Duration::from_secs(1);
        assert_eq!(until(&stop, second, None, async || Some(1)).await, Ok(1));
        assert_eq!(until(&stop, second, None, async || None::<u8>).await, Err(GaveUp::Cancelled));
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_when_the_limit_has_passed() {
        let (stop, second) = (CancellationToken::new(), Duration::from_secs(1));
        let mut looks = 0;
        let looked = until(&stop, second, Some(second * 3), async || {
            looks += 1;
            None::<u8>
        });
        assert_eq!(looked.await, Err(GaveUp::TimedOut));
        assert_eq!(looks, 4);
    }
}
