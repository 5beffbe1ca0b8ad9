//! Connections of a server on which nothing is asked: they end after a while, so that nobody keeps a place by silence, or by pings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Version;
use tokio::time::sleep;

/// How long a client may ask nothing.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimeouts {
    /// For its first request.
    pub first: Duration,
    /// For the next request on a connection of HTTP/2 on which all are answered. It is longer than clients keep one that they don't use, and
    /// than a client takes for what is left of an answer in buffers.
    pub next: Duration,
}

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

    /// Ends when nothing is asked on the connection in time, which is to be dropped then. Over HTTP/1.1 it is left to the server to limit the
    /// time to the next head.
    pub fn idle(&self, timeouts: IdleTimeouts) -> impl Future<Output = ()> + use<> {
        let counts = Arc::clone(&self.0);
        async move {
            // Until it is known which version of HTTP a client speaks, nothing else limits its time.
            sleep(timeouts.first).await;
            match counts.version.get().copied() {
                None => {}
                Some(version) if version <= Version::HTTP_11 => std::future::pending().await,
                Some(_) => counts.stand_still(timeouts.next).await,
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
