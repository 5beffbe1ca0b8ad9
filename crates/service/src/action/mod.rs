//! Does what the domain asks for outside: generates files, deletes them.
//!
//! An action is asked for in the transaction of the change that wants it, and its outcome is written in the one that ends
//! it. In between everything may die: the action is done again, by whoever takes it next.

mod delete;
mod generate;
mod list;

use std::time::Duration;

use assisted_base::error::chain;
use assisted_core::model::action::Action;
use assisted_store::{Asked, Batch, Subject, WriteError};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::pace::{KEEP, LEASE, LONGEST_REST, SHORTEST_REST, rest, retry_at};
use crate::{Error, Service};

/// So many actions are done at the same time, besides as many as there may be clusters that are generated.
const FURTHER: usize = 4;

/// Who does the actions of this process.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    woken: Notify,
}

impl Worker {
    /// Looks at once.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }
}

impl Service {
    /// Does what is asked for until stopped; gives back what is under way then.
    pub(crate) async fn act(self, stop: CancellationToken) {
        let mut marks = self.store().action_marks();
        let mut running = JoinSet::new();
        while !stop.is_cancelled() {
            let rest = match self.begin_actions(&mut running, &stop).await {
                Ok(rest) => rest,
                Err(error) => {
                    tracing::error!(error, "what is to be done can't be taken");
                    SHORTEST_REST
                }
            };
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                () = self.0.worker.woken.notified() => {}
                marked = marks.changed() => {
                    if marked.is_err() {
                        return;
                    }
                }
                Some(done) = running.join_next() => end_loudly(done),
                () = stop.cancelled() => {}
            }
        }
        while let Some(done) = running.join_next().await {
            end_loudly(done);
        }
    }

    /// Begins as many actions as there is room for; returns how long there will be nothing to begin.
    async fn begin_actions(
        &self,
        running: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> Result<Duration, String> {
        let most = self.settings().generation.at_once.max(1).saturating_add(FURTHER);
        let room = most.saturating_sub(running.len());
        if room == 0 {
            return Ok(LONGEST_REST);
        }
        let (now, limit) = (self.now(), u32::try_from(room).unwrap_or(u32::MAX));
        let name = self.0.scheduler.name();
        let taken = self.0.database.take_actions(name, now, limit, LEASE).await;
        for asked in taken.map_err(|error| chain(&error))? {
            running.spawn(self.clone().work_on_action(asked, stop.clone()));
        }
        let next = self.store().next_action_at().await.map_err(|error| chain(&error))?;
        Ok(rest(self.now(), next))
    }

    /// Does one action, and tells how it ended.
    async fn work_on_action(self, asked: Asked, stop: CancellationToken) {
        let (action, cluster) = (asked.action.name(), asked.action.cluster_id());
        tracing::info!(action, %cluster, attempt = asked.attempts, "an action begins");
        let mut batch = Batch::new();
        tokio::select! {
            outcome = Box::pin(self.perform(&asked)) => match outcome {
                Ok(()) => {
                    tracing::info!(action, %cluster, "an action is done");
                    return;
                }
                Err(error) => {
                    tracing::warn!(action, %cluster, attempt = asked.attempts, error = %chain(&error), "an action failed");
                    batch.fail_action(&asked, error.to_string(), retry_at(self.now(), asked.attempts));
                }
            },
            () = self.keep_action(&asked) => {
                tracing::warn!(action, %cluster, "an action was taken over");
                return;
            }
            () = stop.cancelled() => {
                batch.give_action_back(&asked, self.now());
            }
        }
        if let Err(error) = self.0.database.commit_silently(batch).await {
            tracing::error!(action, %cluster, error = %chain(&error), "an action can't be given back; its lease will run out");
        }
    }

    async fn perform(&self, asked: &Asked) -> Result<(), Error> {
        match asked.action {
            Action::Generate { cluster_id, attempt } => {
                return Box::pin(self.generate(asked, cluster_id, attempt)).await;
            }
            Action::DeleteGenerated { cluster_id } => self.delete_generated(cluster_id).await?,
            Action::DeleteLogs { cluster_id } => self.delete_logs(cluster_id).await?,
            Action::DeleteCluster { cluster_id } => return self.delete_cluster(asked, cluster_id).await,
        }
        self.finish_action(asked).await
    }

    /// Notes that an action needs nothing more.
    async fn finish_action(&self, asked: &Asked) -> Result<(), Error> {
        self.finish_action_with(asked, Batch::new()).await
    }

    /// The same, together with what becomes of it.
    async fn finish_action_with(&self, asked: &Asked, mut batch: Batch) -> Result<(), Error> {
        batch.finish_action(asked);
        match self.0.database.commit_silently(batch).await {
            // Whoever took it over does it once more.
            Ok(()) | Err(WriteError::Conflict { what: Subject::Actions(_) }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps an action; returns when another worker has it.
    async fn keep_action(&self, asked: &Asked) {
        loop {
            tokio::time::sleep(KEEP).await;
            let until = self.now().checked_add(LEASE).unwrap_or(Timestamp::MAX);
            match self.0.database.keep_action(asked, until).await {
                Ok(()) => {}
                Err(WriteError::Conflict { .. }) => return,
                Err(error) => {
                    tracing::warn!(action = asked.action.name(), error = %chain(&error), "a lease can't be kept");
                }
            }
        }
    }
}

/// A panic is a defect: the process ends loudly, and the action's lease runs out.
fn end_loudly(done: Result<(), JoinError>) {
    if let Err(error) = done
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
