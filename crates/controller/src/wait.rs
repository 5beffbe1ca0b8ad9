//! Waiting for a condition: by polling, or by a watch with a resync. A condition is checked once before anything else, so
//! that a loop that is stopped still reports what it has to report.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// So many times as long as a pass takes, there is none.
const REST: u32 = 4;

/// Why a condition was not met; the texts are part of what the service is told (installer-and-controller §B6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PollError {
    #[error("context deadline exceeded")]
    TimedOut,
    #[error("context canceled")]
    Cancelled,
}

/// Polls at an interval until the condition gives a value, the timeout has passed, or the loop is cancelled.
pub(crate) async fn poll_until<T>(
    stop: &CancellationToken,
    interval: Duration,
    timeout: Option<Duration>,
    condition: impl AsyncFnMut() -> Option<T>,
) -> Result<T, PollError> {
    until(timeout, condition, async || pause(stop, interval).await).await
}

/// Polls as [`poll_until`] does, at each tick.
pub(crate) async fn tick_until<T>(
    stop: &CancellationToken,
    ticker: &mut Ticker,
    timeout: Option<Duration>,
    condition: impl AsyncFnMut() -> Option<T>,
) -> Result<T, PollError> {
    until(timeout, condition, async || !ticker.next(stop).await).await
}

/// Polls until the condition gives a value; `rest` waits in between, and gives true when it was cancelled.
async fn until<T>(
    timeout: Option<Duration>,
    mut condition: impl AsyncFnMut() -> Option<T>,
    mut rest: impl AsyncFnMut() -> bool,
) -> Result<T, PollError> {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        if let Some(found) = condition().await {
            return Ok(found);
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(PollError::TimedOut);
        }
        if rest().await {
            return Err(PollError::Cancelled);
        }
    }
}

/// Sleeps; true when it was cancelled meanwhile, or before.
pub(crate) async fn pause(stop: &CancellationToken, duration: Duration) -> bool {
    stop.run_until_cancelled(sleep(duration)).await.is_none()
}

/// When to reconcile again: soon after a watched object has changed, or at the next resync.
pub(crate) struct Ticker {
    changes: BoxStream<'static, ()>,
    resync: Duration,
    min_interval: Duration,
    /// When the last tick was: a pass has followed it.
    ticked: Instant,
}

impl Ticker {
    /// Ticks at each resync.
    pub(crate) fn resyncing(resync: Duration, min_interval: Duration) -> Self {
        Self { changes: stream::pending().boxed(), resync, min_interval, ticked: Instant::now() }
    }

    /// Ticks with the changes of objects.
    pub(crate) fn watching<K>(api: Api<K>, resync: Duration, min_interval: Duration) -> Self
    where
        K: Resource + Clone + DeserializeOwned + fmt::Debug + Send + 'static,
    {
        // A watch that breaks begins again; meanwhile the resync does.
        let watch = watcher(api, watcher::Config::default()).default_backoff();
        let changes = watch.filter_map(async |event| event.ok().map(drop)).chain(stream::pending()).boxed();
        Self { changes, resync, min_interval, ticked: Instant::now() }
    }

    /// Ticks with notifications as well, from now on.
    pub(crate) fn and(mut self, notify: Arc<Notify>) -> Self {
        let notified = stream::unfold(notify, async |notify| {
            notify.notified().await;
            Some(((), notify))
        });
        self.changes = stream::select(self.changes, notified).boxed();
        self
    }

    /// Waits for the next tick; false when it was cancelled.
    pub(crate) async fn next(&mut self, stop: &CancellationToken) -> bool {
        let Self { changes, resync, min_interval, ticked } = self;
        // Passes over many nodes take long, and something always changes there: most of the time is for others.
        let rest = (*min_interval).max(ticked.elapsed() * REST);
        let tick = async {
            let change = async {
                sleep(rest).await;
                changes.next().await
            };
            tokio::select! { _ = change => {}, () = sleep(*resync) => {} }
        };
        let goes_on = stop.run_until_cancelled(tick).await.is_some();
        // The pass that follows sees them all.
        while changes.next().now_or_never().flatten().is_some() {}
        *ticked = Instant::now();
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_condition_is_checked_once_even_when_cancelled() {
        let stop = CancellationToken::new();
        stop.cancel();
        let second = Duration::from_secs(1);
        assert_eq!(poll_until(&stop, second, None, async || Some(1)).await, Ok(1));
        assert_eq!(poll_until(&stop, second, None, async || None::<u8>).await, Err(PollError::Cancelled));
    }

    #[tokio::test(start_paused = true)]
    async fn a_notification_is_not_waited_out() {
        let (stop, notify) = (CancellationToken::new(), Arc::new(Notify::new()));
        let hour = Duration::from_secs(3600);
        let mut ticker = Ticker::resyncing(hour, Duration::from_secs(1)).and(Arc::clone(&notify));
        // It came before anybody waited, and counts.
        notify.notify_one();
        let began = Instant::now();
        let mut polls = 0;
        let found = tick_until(&stop, &mut ticker, Some(hour * 2), async || {
            polls += 1;
            (polls == 2).then_some(())
        });
        assert_eq!(found.await, Ok(()));
        assert!(began.elapsed() < hour / 2, "the resync came first");
        // Without one, it is the resync, until the timeout.
        let never = tick_until(&stop, &mut ticker, Some(hour * 2), async || None::<u8>);
        assert_eq!(never.await, Err(PollError::TimedOut));
    }

    #[tokio::test(start_paused = true)]
    async fn polling_ends_when_the_timeout_has_passed() {
        let (stop, second) = (CancellationToken::new(), Duration::from_secs(1));
        let mut looks = 0;
        let looked = poll_until(&stop, second, Some(second * 3), async || {
            looks += 1;
            None::<u8>
        });
        assert_eq!(looked.await, Err(PollError::TimedOut));
        assert_eq!(looks, 4);
    }
}
