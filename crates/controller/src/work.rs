//! Work in rows: how the controller's reconcilers are driven.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_reconcile::{Driver, MemoryQueue, MemoryRow, Outcome, Policy, Reconciler, Status};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use crate::intervals::Intervals;

/// Rows that are worked on at the same time.
const AT_ONCE: usize = 4;
/// How long one attempt may take: the service is asked with patience.
const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);
/// How long a row belongs to its worker, and how often that is renewed.
const LEASE: SignedDuration = SignedDuration::from_secs(60);
const KEEP: Duration = Duration::from_secs(20);
/// Attempts that may panic or take too long before a row is set aside, and for how long it is.
const CRASHES: u32 = 3;
const ASIDE: Duration = Duration::from_secs(10 * 60);
const SHORTEST_REST: Duration = Duration::from_millis(10);

/// An empty queue. Nothing of it has to outlive this process: a watch shows the rows again.
pub(crate) fn queue<K>() -> Arc<MemoryQueue<K>>
where
    K: Clone + Eq + Hash,
{
    Arc::new(MemoryQueue::new(LEASE, Timestamp::now))
}

/// To be reconciled again after a while.
pub(crate) fn after(pause: Duration) -> Outcome {
    Outcome::After(Timestamp::now().checked_add(pause).unwrap_or(Timestamp::MAX))
}

/// Works on the rows of a queue until it is stopped; rows that are worked on then are given up.
pub(crate) async fn drive<K, R>(
    name: &'static str,
    queue: Arc<MemoryQueue<K>>,
    reconciler: R,
    intervals: &Intervals,
    stop: &CancellationToken,
) where
    K: Clone + Eq + Hash + fmt::Display + Send + Sync + 'static,
    R: Reconciler<Row = MemoryRow<K>>,
{
    let policy = Policy {
        at_once: AT_ONCE,
        time_limit: TIME_LIMIT,
        keep: KEEP,
        backoff: Backoff { first: intervals.min_interval, longest: intervals.resync, jitter: Jitter::None },
        most_failures: u32::MAX,
        most_crashes: CRASHES,
        aside: ASIDE,
        longest_rest: intervals.resync,
        shortest_rest: SHORTEST_REST,
        give_back: true,
    };
    let status = Arc::new(Status::new(name));
    Driver::new(queue, Arc::new(reconciler), policy, status).run(stop.clone()).await;
}
