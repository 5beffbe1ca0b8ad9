//! What is due, under way or set aside, for administrators.

use std::sync::Arc;
use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_reconcile::Snapshot;
use assisted_store::{Batch, Due, Sink, WorkKey, WorkRow as Stored, WorkState, WriteError};
use assisted_wire::id::ClusterId;
use assisted_wire::work::{WorkDriver, WorkList, WorkRow};
use jiff::Timestamp;

use crate::action::Worker;
use crate::attempt::{AttemptError, final_error};
use crate::database::Database;
use crate::scheduler::Scheduler;
use crate::{Caller, Error};

/// Rows of each kind when the caller does not say how many.
const ROWS: u32 = 500;
/// The most that a caller gets.
const MOST_ROWS: u32 = 10_000;

/// Rows of work: those that are due, and actions.
pub struct Work {
    database: Arc<Database>,
    scheduler: Arc<Scheduler>,
    worker: Arc<Worker>,
}

impl Work {
    pub(crate) fn new(database: Arc<Database>, scheduler: Arc<Scheduler>, worker: Arc<Worker>) -> Self {
        Self { database, scheduler, worker }
    }

    /// Looks at once for what is due and to be done: for who turned the clock.
    pub fn notify(&self) {
        self.scheduler.notify();
        self.worker.notify();
    }

    /// Whether rows are looked for: not longer ago than `longest`.
    ///
    /// # Errors
    ///
    /// What is stuck, for people.
    pub(crate) fn health(&self, longest: Duration) -> Result<(), String> {
        self.scheduler.health(longest)
    }

    /// Rows of work, at most `limit` actions and as many rows of due work, and what this process has done.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators.
    pub async fn list(&self, caller: &Caller, limit: Option<i64>) -> Result<WorkList, Error> {
        for_admins(caller)?;
        let limit = limit.map_or(ROWS, |limit| u32::try_from(limit).unwrap_or_default().min(MOST_ROWS));
        let rows = self.database.reader().work(self.database.now(), limit).await?;
        let drivers = [self.scheduler.status(), self.worker.status()];
        Ok(WorkList {
            rows: rows.into_iter().map(wire_row).collect(),
            drivers: drivers.map(|status| driver(&status.snapshot())).into(),
        })
    }

    /// Has a row that was set aside worked on at once.
    ///
    /// # Errors
    ///
    /// 403 for others than administrators, 404 when no row of this id is set aside.
    pub async fn release(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        for_admins(caller)?;
        let now = self.database.now();
        let released = match key(id) {
            Some(WorkKey::Due(due @ Due::Outbox(sink))) => self.release_messages(due, sink, now).await,
            Some(WorkKey::Due(due)) => self.database.release_due(due, now).await,
            Some(WorkKey::Action { id, cluster_id }) => {
                self.database.release_action(cluster_id, id, now).await
            }
            None => Ok(false),
        };
        if released.map_err(|error| final_error(AttemptError::from(error)))? {
            tracing::info!(id, user = caller.user_name, "a row that was set aside is released");
            return Ok(());
        }
        Err(Refusal::not_found(format!("no work {id} is set aside")).into())
    }

    /// Has messages that were set aside sent again, and their row worked on at once.
    async fn release_messages(&self, due: Due, sink: Sink, now: Timestamp) -> Result<bool, WriteError> {
        let messages = self.database.release_messages(sink).await?;
        if messages > 0 {
            let mut batch = Batch::new();
            batch.mark_due(due, now);
            self.database.commit_silently(batch).await?;
        }
        Ok(self.database.release_due(due, now).await? || messages > 0)
    }
}

fn for_admins(caller: &Caller) -> Result<(), Error> {
    if caller.is_admin() {
        return Ok(());
    }
    let message = "only admin users are allowed to see and release work".to_owned();
    Err(Error::Infra { kind: RefusalKind::Forbidden, message })
}

fn wire_row(row: Stored) -> WorkRow {
    let (what, cluster_id) = match row.key {
        WorkKey::Due(Due::Cluster(id)) => ("cluster", Some(id)),
        WorkKey::Due(Due::Host(_)) => ("host", None),
        WorkKey::Due(Due::Sweep(sweep)) => (sweep.name(), None),
        WorkKey::Due(Due::Outbox(sink)) => (sink.name(), None),
        WorkKey::Due(Due::Upload) => ("upload", None),
        WorkKey::Action { cluster_id, .. } => {
            (row.action.as_ref().map_or("action", |action| action.name()), Some(cluster_id))
        }
    };
    WorkRow {
        id: name(row.key),
        what: what.to_owned(),
        state: match row.state {
            WorkState::SetAside => "set-aside",
            WorkState::Running => "running",
            WorkState::Queued => "queued",
            WorkState::Waiting => "waiting",
        }
        .to_owned(),
        cluster_id,
        attempts: row.attempts.into(),
        last_error: row.last_error,
        next_at: row.next_at.into(),
        owner: row.owner,
    }
}

fn driver(seen: &Snapshot) -> WorkDriver {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let milliseconds = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    WorkDriver {
        name: seen.name.to_owned(),
        running: i64::try_from(seen.running.len()).unwrap_or(i64::MAX),
        finished: number(seen.finished),
        failed: number(seen.failed),
        panicked: number(seen.panicked),
        timed_out: number(seen.timed_out),
        set_aside: number(seen.set_aside),
        busy_milliseconds: milliseconds(seen.busy),
        longest_milliseconds: milliseconds(seen.longest),
    }
}

/// A row's id.
fn name(key: WorkKey) -> String {
    match key {
        WorkKey::Due(Due::Cluster(id)) => format!("cluster.{id}"),
        WorkKey::Due(Due::Host(key)) => format!("host.{}.{}", key.infra_env_id, key.host_id),
        WorkKey::Due(Due::Sweep(sweep)) => format!("sweep.{}", sweep.name()),
        WorkKey::Due(Due::Outbox(sink)) => format!("outbox.{sink}"),
        WorkKey::Due(Due::Upload) => "upload".to_owned(),
        WorkKey::Action { id, cluster_id } => format!("action.{id}.{cluster_id}"),
    }
}

/// The row that an id means.
fn key(id: &str) -> Option<WorkKey> {
    let parts: Vec<_> = id.split('.').collect();
    Some(match *parts {
        ["cluster", id] => WorkKey::Due(Due::Cluster(id.parse::<ClusterId>().ok()?)),
        ["host", infra_env, host] => {
            let key = HostKey { infra_env_id: infra_env.parse().ok()?, host_id: host.parse().ok()? };
            WorkKey::Due(Due::Host(key))
        }
        ["sweep", sweep] => WorkKey::Due(Due::Sweep(sweep.parse().ok()?)),
        ["upload"] => WorkKey::Due(Due::Upload),
        ["outbox", sink] => WorkKey::Due(Due::Outbox(sink.parse().ok()?)),
        ["action", id, cluster] => {
            WorkKey::Action { id: id.parse().ok()?, cluster_id: cluster.parse().ok()? }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use assisted_store::{Sink, Sweep};
    use assisted_wire::id::{HostId, InfraEnvId};

    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let host = HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() };
        let cluster_id = ClusterId::random();
        let mut keys = vec![
            WorkKey::Due(Due::Cluster(cluster_id)),
            WorkKey::Due(Due::Host(host)),
            WorkKey::Due(Due::Upload),
            WorkKey::Action { id: 7, cluster_id },
        ];
        keys.extend(Sweep::ALL.map(|sweep| WorkKey::Due(Due::Sweep(sweep))));
        keys.extend(Sink::ALL.map(|sink| WorkKey::Due(Due::Outbox(sink))));
        for written in keys {
            assert_eq!(key(&name(written)), Some(written));
        }
        for text in ["", "cluster", "cluster.x", "host.1", "sweep.all", "action.1", "action.x.y", "a.b.c"] {
            assert_eq!(key(text), None, "{text}");
        }
    }
}
