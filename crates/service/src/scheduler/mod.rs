//! The scheduler: takes what is due, decides, writes, and sets when to look again.
//!
//! Nothing scans all hosts. A change marks its cluster, or its host of a pool, due in the same transaction; a decision
//! says when the clock alone could change anything, and that is when it is due next. Between the two it rests.

mod quiet;

use std::time::{Duration, Instant};

use assisted_base::error::chain;
use assisted_store::{Batch, Deleted, Due, Taken};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Service;
use crate::fault::{Fault, Tries};
use crate::pace::{LEASE, SHORTEST_REST, rest, retry_at};
use quiet::Quiet;

/// So many rows are taken at a time, and worked on at the same time.
const AT_ONCE: u32 = 16;

/// What the scheduler remembers.
#[derive(Debug)]
pub(crate) struct Scheduler {
    /// Told to people who look into the table of due work.
    name: String,
    woken: Notify,
    /// When it last looked.
    looked: Mutex<Instant>,
    quiet: Quiet,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            name: format!("{}-{}", std::process::id(), Uuid::new_v4().simple()),
            woken: Notify::new(),
            looked: Mutex::new(Instant::now()),
            quiet: Quiet::default(),
        }
    }
}

impl Scheduler {
    /// Looks at once.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }

    /// Forgets what needs no attention any more.
    pub(crate) fn tidy(&self, now: Timestamp) {
        self.quiet.tidy(now);
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it looked not too long ago.
    pub(crate) fn health(&self, longest: Duration) -> Result<(), String> {
        let rested = self.looked.lock().elapsed();
        if rested > longest {
            return Err(format!("the scheduler last looked {} s ago", rested.as_secs()));
        }
        Ok(())
    }
}

impl Service {
    /// Works on what is due until stopped.
    pub(crate) async fn schedule(self, stop: CancellationToken) {
        let mut due = self.store().due_marks();
        let mut begun = false;
        while !stop.is_cancelled() {
            *self.0.scheduler.looked.lock() = Instant::now();
            if !begun {
                match self.begin().await {
                    Ok(()) => begun = true,
                    Err(fault) => tracing::warn!(?fault, "what a start has to do can't be done yet"),
                }
            }
            let rest = match self.work_off().await {
                Ok(rest) => rest,
                Err(error) => {
                    tracing::error!(error, "what is due can't be taken");
                    SHORTEST_REST
                }
            };
            if rest.is_zero() {
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = self.0.scheduler.woken.notified() => {}
                woken = due.changed() => {
                    if woken.is_err() {
                        return;
                    }
                }
                () = stop.cancelled() => {}
            }
        }
    }

    /// Takes up what another process had begun, and plans what comes up from time to time.
    async fn begin(&self) -> Result<(), Fault> {
        self.0.database.free_leases(self.now()).await?;
        self.plan_sweeps().await
    }

    /// Takes and does what is due; returns how long nothing will be.
    async fn work_off(&self) -> Result<Duration, String> {
        let now = self.now();
        let store = self.store();
        let taken = self
            .0
            .database
            .take_due(&self.0.scheduler.name, now, AT_ONCE, LEASE)
            .await
            .map_err(|error| chain(&error))?;
        let is_all = taken.len() < AT_ONCE as usize;
        let mut calm = Batch::new();
        let mut tasks = JoinSet::new();
        for taken in taken {
            match self.0.scheduler.quiet.next_at(&taken, now) {
                Some(next) => drop(calm.finish_due(&taken, Some(next))),
                None => drop(tasks.spawn(self.clone().work_on(taken))),
            }
        }
        if !calm.is_empty() {
            self.0.database.commit_silently(calm).await.map_err(|error| chain(&error))?;
        }
        while let Some(done) = tasks.join_next().await {
            // A panic is a defect: the row stays leased, and the process ends loudly.
            if let Err(error) = done
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        if !is_all {
            return Ok(Duration::ZERO);
        }
        let next = store.next_due_at().await.map_err(|error| chain(&error))?;
        Ok(rest(self.now(), next))
    }

    /// Works on one row, and gives it back.
    async fn work_on(self, taken: Taken) {
        let mut tries = Tries::default();
        let failure = loop {
            match Box::pin(self.refresh_due(&taken)).await {
                Ok(()) => return,
                Err(Fault::Conflict(what)) => {
                    if let Err(error) = tries.again(what).await {
                        break error;
                    }
                }
                Err(Fault::Failed(error)) => break error,
                Err(Fault::Rejected(rejection)) => break rejection.refusal.into(),
            }
        };
        let mut batch = Batch::new();
        batch.fail_due(&taken, failure.to_string(), retry_at(self.now(), taken.attempts));
        if let Err(error) = self.0.database.commit_silently(batch).await {
            tracing::error!(due = ?taken.due, error = %chain(&error), "due work can't be given back; its lease will run out");
        }
    }

    /// Decides anew about what is due.
    async fn refresh_due(&self, taken: &Taken) -> Result<(), Fault> {
        let loaded = match taken.due {
            Due::Cluster(id) => self.load_cluster(id, Deleted::Hidden).await?,
            Due::Host(key) => self.load_host_alone(key).await?.filter(|work| work.cluster().is_none()),
            Due::Sweep(sweep) => return self.sweep_due(taken, sweep).await,
        };
        let Some(mut work) = loaded else {
            // Gone, or due with its cluster.
            let mut batch = Batch::new();
            batch.finish_due(taken, None);
            self.0.database.commit_silently(batch).await?;
            self.0.scheduler.quiet.forget(taken.due);
            return Ok(());
        };
        let next = work.refresh();
        work.batch.finish_due(taken, next);
        let facts = work.commit(self).await?;
        self.0.scheduler.quiet.remember(taken, &facts, next, self.memory());
        Ok(())
    }
}
