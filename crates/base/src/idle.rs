//! Connections of a server on which nothing is asked: they end after a while, so that nobody keeps a place by silence, or by pings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Version;
use tokio::time::{sleep, timeout};

/// How long a client may ask nothing.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimeouts {
    /// For its first request.
    pub first: Duration,
    /// For the next request on a connection of HTTP/2 on which all are answered. It is longer than clients keep one that they don't use, and
    /// than a client takes for what is left of an answer in buffers.
    pub next: Duration,
}

/// Nothing is asked on a connection in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is asked on it in time")]
pub struct Idle;

/// What was asked on a connection.
#[derive(Clone, Debug, Default)]
pub struct Requests(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The version of HTTP that the client speaks; none before it has asked.
    version: OnceLock<Version>,
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Requests {
    /// Counts a request, whose head is read, until what is returned is dropped.
    pub fn begin(&self, version: Version) -> UnderWay {
        // It is the same for all of a connection.
        let _ = self.0.version.set(version);
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(&self.0))
    }

    /// Serves a connection until its end. Over HTTP/1.1 it is left to the server to limit the time to the next head.
    ///
    /// # Errors
    ///
    /// Nothing is asked on it in time: whoever gets this is to drop the connection.
    pub fn limit<C: Future + Unpin>(
        &self,
        mut connection: C,
        timeouts: IdleTimeouts,
    ) -> impl Future<Output = Result<C::Output, Idle>> + use<C> {
        let counts = Arc::clone(&self.0);
        async move {
            // Until it is known which version of HTTP a client speaks, nothing else limits its time.
            if let Ok(ended) = timeout(timeouts.first, &mut connection).await {
                return Ok(ended);
            }
            match counts.version.get().copied() {
                None => Err(Idle),
                Some(version) if version <= Version::HTTP_11 => Ok(connection.await),
                Some(_) => tokio::select! {
                    ended = connection => Ok(ended),
                    () = counts.stand_still(timeouts.next) => Err(Idle),
                },
            }
        }
    }
}

impl Counts {
    /// Ends once nothing was asked for so long, and everything is answered for so long. Over HTTP/2 a client need not ask to keep its place:
    /// its pings are answered below the requests.
    async fn stand_still(&self, time: Duration) {
        let counts = || (self.begun.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed));
        loop {
            let before = counts();
            sleep(time).await;
            let (begun, ended) = counts();
            if before == (begun, ended) && begun == ended {
                return;
            }
        }
    }
}

/// A request, from its head until the last of its answer is handed over, or nobody waits for it any more.
#[derive(Debug)]
pub struct UnderWay(Arc<Counts>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}
