//! The one thread that writes to SQLite.
//!
//! It commits whatever has queued in one transaction, so that many small batches share one flush to disk. Each batch is a
//! savepoint: one that fails leaves the others alone. Nobody is told of success before the commit.

use std::sync::Arc;
use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::sqlite_value;
use crate::batch::Batch;
use crate::error::{Error, OpenError, WriteError};
use crate::news::News;
use crate::statement::Output;

/// Batches that wait; who brings more waits before the queue.
const QUEUE: usize = 1024;

/// Batches in one transaction.
const GROUP: usize = 256;

type Reply = Result<Vec<Output>, WriteError>;

#[derive(Debug)]
struct Job {
    batch: Batch,
    reply: oneshot::Sender<Reply>,
}

#[derive(Debug)]
pub(super) struct Writer(mpsc::Sender<Job>);

impl Writer {
    pub(super) async fn write(&self, batch: Batch) -> Reply {
        let (reply, answer) = oneshot::channel();
        self.0.send(Job { batch, reply }).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

/// Starts the thread. It ends, with everything that was queued written, when the [`Writer`] is dropped.
pub(super) fn start(connection: Connection, news: Arc<News>) -> Result<Writer, OpenError> {
    let (sender, mut queue) = mpsc::channel::<Job>(QUEUE);
    thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
        let mut jobs = Vec::with_capacity(GROUP);
        while queue.blocking_recv_many(&mut jobs, GROUP) > 0 {
            write_group(&connection, &news, std::mem::take(&mut jobs));
        }
    })?;
    Ok(Writer(sender))
}

fn write_group(connection: &Connection, news: &News, jobs: Vec<Job>) {
    let replies = match apply_group(connection, &jobs) {
        Ok(replies) => replies,
        Err(error) => {
            tracing::error!(
                batches = jobs.len(),
                error = &error as &dyn std::error::Error,
                "transaction failed"
            );
            if !connection.is_autocommit() && connection.execute_batch("rollback").is_err() {
                tracing::error!("transaction can't be rolled back");
            }
            jobs.iter().map(|_| Err(error.clone().into())).collect()
        }
    };
    for (job, reply) in jobs.into_iter().zip(replies) {
        if reply.is_ok() {
            news.here(&job.batch.subjects);
        }
        // A caller that went away needs no answer.
        let _ = job.reply.send(reply);
    }
}

/// Writes and commits; an error means that nothing of the group is written.
fn apply_group(connection: &Connection, jobs: &[Job]) -> Result<Vec<Reply>, Error> {
    execute(connection, "begin immediate")?;
    let mut replies = Vec::with_capacity(jobs.len());
    for job in jobs {
        execute(connection, "savepoint batch")?;
        let reply = apply(connection, &job.batch);
        if reply.is_err() {
            // Fails when the error (a full disk, say) has already ended the transaction: then the group is lost.
            execute(connection, "rollback to batch")?;
        }
        execute(connection, "release batch")?;
        replies.push(reply);
    }
    execute(connection, "commit")?;
    Ok(replies)
}

fn apply(connection: &Connection, batch: &Batch) -> Reply {
    let mut outputs = Vec::with_capacity(batch.statements.len());
    for statement in &batch.statements {
        let output = sqlite_value::run(connection, statement)?;
        if let Some(what) = statement.guard.filter(|_| output.affected != 1) {
            return Err(WriteError::Conflict { what });
        }
        outputs.push(output);
    }
    Ok(outputs)
}

fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
