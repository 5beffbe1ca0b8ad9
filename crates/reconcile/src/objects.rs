//! Work on objects of an API server: a queue of keys that watches mark, worked on by one replica, the leader.

use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::driver::{Driver, Policy};
use crate::memory::{MemoryQueue, MemoryRow};
use crate::status::Status;
use crate::traits::{Outcome, Reconciler};

/// Objects of a kind that are worked on at once.
const AT_ONCE: usize = 8;
/// How long an attempt may take: an image of a registry far away may be read in it.
const TIME_LIMIT: Duration = Duration::from_secs(180);
/// Longer than an attempt may take: one replica works on these rows, and no lease needs to run out.
const LEASE: SignedDuration = SignedDuration::from_secs(600);
/// Between a failure and the next attempt.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(300), jitter: Jitter::Half };

/// An empty queue.
pub fn queue<K: Clone + Eq + Hash>() -> Arc<MemoryQueue<K>> {
    Arc::new(MemoryQueue::new(LEASE, Timestamp::now))
}

/// Has an object looked at, at once.
pub fn mark<K: Clone + Eq + Hash>(queue: &MemoryQueue<K>, key: K) {
    queue.mark(key, Timestamp::now());
}

/// To be looked at again after a while.
pub fn after(pause: Duration) -> Outcome {
    Outcome::After(Timestamp::now().checked_add(pause).unwrap_or(Timestamp::MAX))
}

/// Works on a queue until stopped. A failure is tried again, later each time, and nothing is ever set aside: what stands in the
/// way is shown in the object.
pub async fn work<K, R>(
    name: &'static str,
    queue: &Arc<MemoryQueue<K>>,
    reconciler: R,
    stop: &CancellationToken,
) where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    R: Reconciler<Row = MemoryRow<K>>,
{
    let policy = Policy {
        at_once: AT_ONCE,
        time_limit: TIME_LIMIT,
        keep: TIME_LIMIT,
        backoff: BACKOFF,
        most_failures: u32::MAX,
        most_crashes: u32::MAX,
        aside: BACKOFF.longest,
        longest_rest: Duration::from_secs(3600),
        shortest_rest: Duration::from_millis(5),
        give_back: false,
    };
    let status = Arc::new(Status::new(name));
    Driver::new(Arc::clone(queue), Arc::new(reconciler), policy, status).run(stop.clone()).await;
}
