//! Does what the domain asks for outside: generates files, deletes them, tells others.
//!
//! An action is asked for in the transaction of the change that wants it, and its outcome is written in the one that ends
//! it. In between everything may die: the action is done again, by whoever takes it next.

mod delete;
mod dns;
mod generate;
mod subscription;

use std::sync::Arc;
use std::time::Duration;

use assisted_auth::Accounts;
use assisted_base::failpoint;
use assisted_blob::Blob;
use assisted_core::model::action::Action;
use assisted_core::model::decision::Decision;
use assisted_core::model::facts::Facts;
use assisted_reconcile::{self as reconcile, Driver, Ending, Failure, Outcome, Policy, Status};
use assisted_store::{Batch, Deleted, QueuedAction, Subject, WriteError};
use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::Error;
use crate::attempt::{AttemptError, Retries, final_error};
use crate::database::Database;
use crate::dns::Domains;
use crate::error::passing;
use crate::generator::Generator;
use crate::mark_watch::MarkWatch;
use crate::pace;
use crate::parts::Parts;

/// So many actions are done at the same time, besides as many as there may be clusters that are generated.
const FURTHER: usize = 4;
/// How long an attempt may take. What an action runs outside has shorter limits of its own.
const TIME_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// What is remembered between attempts.
#[derive(Debug)]
pub(crate) struct Worker {
    woken: Notify,
    status: Arc<Status>,
}

impl Default for Worker {
    fn default() -> Self {
        Self { woken: Notify::new(), status: Arc::new(Status::new("actions")) }
    }
}

impl Worker {
    /// Looks for actions at once.
    pub(crate) fn notify(&self) {
        self.woken.notify_one();
    }

    /// What the driver does.
    pub(crate) fn status(&self) -> &Arc<Status> {
        &self.status
    }
}

/// A row of the table of actions.
#[derive(Clone, Debug)]
pub(crate) struct ActionRow(QueuedAction);

impl reconcile::Row for ActionRow {
    fn label(&self) -> String {
        format!("{} of cluster {}", self.0.action.name(), self.0.action.cluster_id())
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

/// Performs actions.
struct Actions {
    database: Arc<Database>,
    blob: Blob,
    generator: Arc<dyn Generator>,
    dns: Arc<Domains>,
    accounts: Option<Arc<Accounts>>,
}

/// The table of actions.
pub(crate) struct ActionQueue {
    actions: Actions,
    worker: Arc<Worker>,
    /// The name of this process, for the table.
    owner: Arc<str>,
    marks: MarkWatch,
}

/// The driver of actions. What is under way when it stops is given back.
pub(crate) fn driver(
    parts: &Parts,
    worker: Arc<Worker>,
    owner: Arc<str>,
) -> Driver<ActionQueue, ActionQueue> {
    let actions = Actions {
        database: Arc::clone(&parts.database),
        blob: parts.blob.clone(),
        generator: Arc::clone(&parts.generator),
        dns: Arc::clone(&parts.dns),
        accounts: parts.accounts.clone(),
    };
    let marks = MarkWatch::new(parts.database.reader().action_marks());
    let status = Arc::clone(&worker.status);
    let queue = Arc::new(ActionQueue { actions, worker, owner, marks });
    let at_once = parts.settings.generation.at_once.max(1).saturating_add(FURTHER);
    let policy = Policy { at_once, time_limit: TIME_LIMIT, give_back: true, ..pace::policy() };
    Driver::new(Arc::clone(&queue), queue, policy, status)
}

impl ActionQueue {
    fn database(&self) -> &Database {
        &self.actions.database
    }
}

impl reconcile::Queue for ActionQueue {
    type Row = ActionRow;

    fn now(&self) -> Timestamp {
        self.database().now()
    }

    async fn take(&self, limit: usize) -> Result<reconcile::Batch<ActionRow>, Failure> {
        self.marks.mark_seen();
        let most = u32::try_from(limit).unwrap_or(u32::MAX);
        let taken = self.database().take_actions(&self.owner, self.now(), most, pace::LEASE).await;
        let rows: Vec<_> = taken.map_err(|error| passing(&error))?.into_iter().map(ActionRow).collect();
        Ok(reconcile::Batch { more: rows.len() >= limit, rows })
    }

    async fn next_at(&self) -> Result<Option<Timestamp>, Failure> {
        self.database().reader().next_action_at().await.map_err(|error| passing(&error))
    }

    async fn keep(&self, row: &ActionRow) -> Result<bool, Failure> {
        let until = self.now().checked_add(pace::LEASE).unwrap_or(Timestamp::MAX);
        match self.database().keep_action(&row.0, until).await {
            Ok(()) => Ok(true),
            Err(WriteError::Conflict { .. }) => Ok(false),
            Err(error) => Err(passing(&error)),
        }
    }

    async fn complete(&self, row: &ActionRow, ending: Ending) -> Result<(), Failure> {
        let mut batch = Batch::new();
        match ending {
            // In the transaction of its outcome.
            Ending::Finished(_) => return Ok(()),
            Ending::Failed { error, retry_at } => batch.fail_action(&row.0, error, retry_at),
            Ending::SetAside { error, retry_at } => {
                batch.set_action_aside(&row.0, error, self.now(), retry_at)
            }
            Ending::GivenBack => batch.give_action_back(&row.0, self.now()),
        };
        self.database().commit_silently(batch).await.map_err(|error| passing(&error))
    }

    async fn marked(&self) -> bool {
        self.marks.marked(&self.worker.woken).await
    }
}

impl reconcile::Reconciler for ActionQueue {
    type Row = ActionRow;

    async fn reconcile(&self, ActionRow(asked): &ActionRow) -> Result<Outcome, Failure> {
        let (action, cluster) = (asked.action.name(), asked.action.cluster_id());
        tracing::info!(action, %cluster, attempt = asked.attempts, "an action begins");
        let work = Box::pin(self.actions.perform(asked));
        failpoint::within(|| format!("{action} of cluster {cluster}"), work).await.map_err(Error::of_row)?;
        tracing::info!(action, %cluster, "an action is done");
        Ok(Outcome::Done)
    }
}

impl Actions {
    async fn perform(&self, asked: &QueuedAction) -> Result<(), Error> {
        match asked.action {
            Action::Generate { cluster_id, attempt } => {
                return Box::pin(self.generate(asked, cluster_id, attempt)).await;
            }
            Action::CreateDnsRecords { cluster_id, attempt } => {
                return Box::pin(self.create_dns_records(asked, cluster_id, attempt)).await;
            }
            Action::DeleteDnsRecords { cluster_id } => {
                return Box::pin(self.delete_dns_records(asked, cluster_id)).await;
            }
            Action::UpdateSubscription { cluster_id, attempt, update } => {
                return Box::pin(self.update_subscription(asked, cluster_id, attempt, update)).await;
            }
            Action::DeleteGenerated { cluster_id } => self.delete_generated(cluster_id).await?,
            Action::DeleteLogs { cluster_id } => self.delete_logs(cluster_id).await?,
            Action::DeleteCluster { cluster_id } => return self.delete_cluster(asked, cluster_id).await,
        }
        self.finish_action(asked).await
    }

    /// Notes that an action needs nothing more.
    async fn finish_action(&self, asked: &QueuedAction) -> Result<(), Error> {
        self.finish_action_with(asked, Batch::new()).await
    }

    /// The same, together with what becomes of it.
    async fn finish_action_with(&self, asked: &QueuedAction, mut batch: Batch) -> Result<(), Error> {
        batch.finish_action(asked);
        match self.database.commit_silently(batch).await {
            // Whoever took it over does it once more.
            Ok(()) | Err(WriteError::Conflict { what: Subject::Actions(_) }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the domain decide, and writes what it wants, with the end of the action if that is given.
    async fn decide(
        &self,
        id: ClusterId,
        ends: Option<&QueuedAction>,
        decide: impl Fn(&Facts) -> Decision,
    ) -> Result<(), Error> {
        let mut tries = Retries::default();
        loop {
            match self.try_decide(id, ends, &decide).await {
                Ok(()) => return Ok(()),
                // Whoever took it over commits its own outcome.
                Err(AttemptError::Conflict(Subject::Actions(_))) => return Ok(()),
                Err(AttemptError::Conflict(what)) => tries.again(what).await?,
                Err(error) => return Err(final_error(error)),
            }
        }
    }

    async fn try_decide(
        &self,
        id: ClusterId,
        ends: Option<&QueuedAction>,
        decide: &impl Fn(&Facts) -> Decision,
    ) -> Result<(), AttemptError> {
        let Some(mut work) = self.database.load_cluster(id, Deleted::Shown).await? else {
            if let Some(asked) = ends {
                self.finish_action(asked).await?;
            }
            return Ok(());
        };
        let decided = decide(&work.facts);
        if work.cluster().is_some_and(|record| record.cluster.deleted_at.is_some()) {
            // Nothing is due any more for a cluster that was deregistered.
            work.merge(decided);
        } else {
            work.apply_and_mark(decided);
        }
        if let Some(asked) = ends {
            work.batch.finish_action(asked);
        }
        work.commit(&self.database).await?;
        Ok(())
    }
}
