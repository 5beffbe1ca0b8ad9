//! Reconciles what is due: decides anew about a cluster with its hosts, or about a host of a pool, and writes when to look
//! again.
//!
//! Nothing scans all hosts. A change marks its cluster, or its host of a pool, due in the same transaction; a decision
//! says when the clock alone could change anything, and that is when it is due next. In between nothing is done. What is written
//! and that the row is given back stand in one transaction.

mod idle_cache;

use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_base::error::chain;
use assisted_core::model::measurement::{Measured, Measurement, Subject};
use assisted_reconcile::{self as reconcile, Driver, Ending, Failure, Outcome, Policy, Status};
use assisted_store::{Batch, Deleted, Due, LeasedItem};
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::Error;
use crate::attempt::{AttemptError, Retries};
use crate::database::Database;
use crate::error::passing;
use crate::mark_watch::MarkWatch;
use crate::metrics::Metrics;
use crate::off_thread::{LARGE, off_thread_if};
use crate::outbox_relay::OutboxRelay;
use crate::pace;
use crate::retention::Sweeper;
use crate::unit_of_work::UnitOfWork;
use crate::upload::Uploader;

use idle_cache::IdleCache;

/// Rows that are worked on at the same time.
const AT_ONCE: usize = 16;
/// How long an attempt may take: a sweep removes twenty clusters with all their files.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// What is remembered between attempts.
#[derive(Debug)]
pub(crate) struct Scheduler {
    woken: Notify,
    idle: IdleCache,
    status: Arc<Status>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self { woken: Notify::new(), idle: IdleCache::default(), status: Arc::new(Status::new("due")) }
    }
}

impl Scheduler {
    /// Looks for due rows at once.
    pub(crate) fn notify(&self) {
        self.woken.notify_one();
    }

    /// Forgets what needs no attention any more.
    pub(crate) fn tidy(&self, now: Timestamp) {
        self.idle.tidy(now);
    }

    /// What the driver does.
    pub(crate) fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// Whether it looked for due rows not too long ago.
    pub(crate) fn health(&self, longest: Duration) -> Result<(), String> {
        let rested = self.status.rested();
        if rested > longest {
            return Err(format!("the scheduler last looked {} s ago", rested.as_secs()));
        }
        Ok(())
    }
}

/// A row of due work.
#[derive(Clone, Debug)]
pub(crate) struct DueRow(LeasedItem);

impl reconcile::Row for DueRow {
    fn label(&self) -> String {
        self.0.due.to_string()
    }

    fn attempts(&self) -> u32 {
        self.0.attempts
    }

    fn has_failed(&self) -> bool {
        self.0.last_error.is_some()
    }

    fn was_set_aside(&self) -> bool {
        self.0.is_aside
    }
}

/// The table of due work.
pub(crate) struct DueQueue {
    database: Arc<Database>,
    sweeper: Arc<Sweeper>,
    deliveries: Deliveries,
    scheduler: Arc<Scheduler>,
    /// The name of this process, for the table.
    owner: Arc<str>,
    marks: MarkWatch,
    /// From which time on a pass counts as slow.
    slow: SlowThresholds,
}

/// What delivers something to other systems: messages of the stream, and uploads.
pub(crate) struct Deliveries {
    pub(crate) outbox_relay: OutboxRelay,
    pub(crate) uploader: Arc<Uploader>,
}

/// How long a pass over a cluster or a host may take without leaving an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowThresholds {
    pub(crate) cluster: Duration,
    pub(crate) host: Duration,
}

/// The driver of due work.
pub(crate) fn driver(
    database: &Arc<Database>,
    sweeper: Arc<Sweeper>,
    deliveries: Deliveries,
    scheduler: Arc<Scheduler>,
    owner: Arc<str>,
    slow: SlowThresholds,
) -> Driver<DueQueue, DueQueue> {
    let marks = MarkWatch::new(database.reader().due_marks());
    let status = Arc::clone(&scheduler.status);
    let queue = Arc::new(DueQueue {
        database: Arc::clone(database),
        sweeper,
        deliveries,
        scheduler,
        owner,
        marks,
        slow,
    });
    let policy = Policy { at_once: AT_ONCE, time_limit: TIME_LIMIT, ..pace::policy() };
    Driver::new(Arc::clone(&queue), queue, policy, status)
}

impl reconcile::Queue for DueQueue {
    type Row = DueRow;

    fn now(&self) -> Timestamp {
        self.database.now()
    }

    async fn take(&self, limit: usize) -> Result<reconcile::Batch<DueRow>, Failure> {
        self.marks.mark_seen();
        let (now, most) = (self.now(), u32::try_from(limit).unwrap_or(u32::MAX));
        let taken = self.database.take_due(&self.owner, now, most, pace::LEASE).await;
        let taken = taken.map_err(|error| passing(&error))?;
        let more = taken.len() >= limit;
        let mut skipped = Batch::new();
        let mut rows = Vec::with_capacity(taken.len());
        for taken in taken {
            match self.scheduler.idle.next_at(&taken, now) {
                Some(next) => drop(skipped.finish_due(&taken, Some(next))),
                None => rows.push(DueRow(taken)),
            }
        }
        if !skipped.is_empty() {
            // Those that are not given back are due again when their leases run out; the others must not wait for that.
            if let Err(error) = self.database.commit_silently(skipped).await {
                tracing::error!(error = %chain(&error), "rows of which nothing changed can't be given back");
            }
        }
        Ok(reconcile::Batch { rows, more })
    }

    async fn next_at(&self) -> Result<Option<Timestamp>, Failure> {
        self.database.reader().next_due_at().await.map_err(|error| passing(&error))
    }

    async fn keep(&self, row: &DueRow) -> Result<bool, Failure> {
        let until = self.now().checked_add(pace::LEASE).unwrap_or(Timestamp::MAX);
        self.database.keep_due(&row.0, until).await.map_err(|error| passing(&error))
    }

    async fn complete(&self, row: &DueRow, ending: Ending) -> Result<(), Failure> {
        let mut batch = Batch::new();
        match ending {
            // In the transaction of what was decided.
            Ending::Finished(_) => return Ok(()),
            Ending::Failed { error, retry_at } => batch.fail_due(&row.0, error, retry_at),
            Ending::SetAside { error, retry_at } => {
                if let Due::Cluster(id) = row.0.due {
                    self.database.metrics().set_cluster_aside(id);
                }
                batch.set_due_aside(&row.0, error, self.now(), retry_at)
            }
            Ending::GivenBack => batch.finish_due(&row.0, Some(self.now())),
        };
        self.database.commit_silently(batch).await.map_err(|error| passing(&error))
    }

    async fn marked(&self) -> bool {
        self.marks.marked(&self.scheduler.woken).await
    }
}

impl reconcile::Reconciler for DueQueue {
    type Row = DueRow;

    async fn reconcile(&self, row: &DueRow) -> Result<Outcome, Failure> {
        let _look = PassGuard::begin(self.database.metrics());
        let mut tries = Retries::default();
        let error = loop {
            match Box::pin(self.refresh_due(&row.0)).await {
                Ok(next) => return Ok(next.map_or(Outcome::Done, Outcome::After)),
                Err(AttemptError::Conflict(what)) => {
                    if let Err(error) = tries.again(what).await {
                        break error;
                    }
                }
                Err(AttemptError::Failed(error)) => break error,
                Err(AttemptError::Rejected(rejection)) => break rejection.refusal.into(),
            }
        };
        Err(Error::of_row(error))
    }
}

/// A row that is worked on, for the metrics; it has ended when this is dropped.
struct PassGuard<'a>(&'a Metrics);

impl<'a> PassGuard<'a> {
    fn begin(metrics: &'a Metrics) -> Self {
        metrics.begin_pass();
        Self(metrics)
    }
}

impl Drop for PassGuard<'_> {
    fn drop(&mut self) {
        self.0.end_pass();
    }
}

impl DueQueue {
    /// Decides anew about what is due; returns when it is due next.
    async fn refresh_due(&self, taken: &LeasedItem) -> Result<Option<Timestamp>, AttemptError> {
        let loaded = match taken.due {
            Due::Cluster(id) => self.database.load_cluster(id, Deleted::Hidden).await?,
            Due::Host(key) => {
                self.database.load_host_alone(key).await?.filter(|work| work.cluster().is_none())
            }
            Due::Sweep(sweep) => return Box::pin(self.sweeper.run(taken, sweep)).await,
            Due::Outbox(sink) => return Box::pin(self.deliveries.outbox_relay.run(taken, sink)).await,
            Due::Upload => return Box::pin(self.deliveries.uploader.run(taken)).await,
        };
        let Some(work) = loaded else {
            // Gone, or due with its cluster.
            let mut batch = Batch::new();
            batch.finish_due(taken, None);
            self.database.commit_silently(batch).await?;
            self.scheduler.idle.forget(taken.due);
            return Ok(None);
        };
        let (started, hosts) = (Instant::now(), work.facts.hosts.len());
        let is_large = work.snapshot_bytes() >= LARGE;
        let (mut work, next) = off_thread_if(is_large, work, UnitOfWork::refresh).await?;
        work.batch.finish_due(taken, next);
        let facts = work.commit(&self.database).await?;
        self.scheduler.idle.remember(taken, &facts, next, self.database.cache());
        self.record_pass(taken.due, started.elapsed(), hosts).await;
        Ok(next)
    }

    /// Notes how long it took to decide about something, and leaves an event if that was long.
    async fn record_pass(&self, due: Due, took: Duration, hosts: usize) {
        let metrics = self.database.metrics();
        let (of, cluster_id, host_id, slow) = match due {
            Due::Cluster(id) => {
                metrics.record_cluster_pass(id, took, hosts);
                (Subject::Cluster, Some(id), None, self.slow.cluster)
            }
            Due::Host(key) => {
                metrics.record_host_pass(took);
                (Subject::Host, None, Some(key.host_id), self.slow.host)
            }
            Due::Sweep(_) | Due::Outbox(_) | Due::Upload => return,
        };
        if took <= slow {
            return;
        }
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let measured = Measurement { cluster_id, host_id, what: Measured::SlowRefresh { of, milliseconds } };
        tracing::warn!(%due, milliseconds, "it took long to decide");
        if let Err(error) =
            self.database.commit(Batch::new(), &measured.events(), None, self.database.now()).await
        {
            tracing::warn!(error = %chain(&error), "the event of it is lost");
        }
    }
}
