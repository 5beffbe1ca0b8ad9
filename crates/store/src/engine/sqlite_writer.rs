//! The one thread that writes to SQLite.
//!
//! It commits whatever has queued in one transaction, so that many small batches share one flush to disk, and then one large batch.
//! Each batch is a savepoint: one that fails leaves the others alone. No write is acknowledged before the commit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use assisted_base::failpoint;
use rusqlite::Connection;

use super::sqlite_value;
use super::writer::{self, Group, Job, Reply, Writer};
use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::error::{Error, OpenError, WriteError};

/// Batches in one transaction.
const GROUP: usize = 256;

/// Starts the thread. It ends, with everything that was queued written, when the [`Writer`] is dropped.
pub(super) fn start(connection: Connection, feed: Arc<ChangeFeed>) -> Result<Writer, OpenError> {
    let (writer, mut queue) = Writer::new();
    thread::Builder::new().name("sqlite-writer".to_owned()).spawn(move || {
        let write = |jobs: &mut Vec<Job>| {
            if !jobs.is_empty() {
                let group = Group::of(jobs);
                let replies = write_group(&connection, &group.batches);
                group.answer(replies, &feed);
            }
        };
        let (mut jobs, mut large) = (Vec::with_capacity(GROUP), VecDeque::new());
        loop {
            if !large.is_empty() {
                // What came meanwhile goes first.
                jobs.extend(std::iter::from_fn(|| queue.try_recv().ok()).take(GROUP));
            } else if queue.blocking_recv_many(&mut jobs, GROUP) == 0 {
                break;
            }
            large.extend(writer::take_large(&mut jobs));
            write(&mut jobs);
            write(&mut large.pop_front().into_iter().collect());
        }
    })?;
    Ok(writer)
}

fn write_group(connection: &Connection, batches: &[Batch]) -> Vec<Reply> {
    apply_group(connection, batches).unwrap_or_else(|error| {
        tracing::error!(
            batches = batches.len(),
            error = &error as &dyn std::error::Error,
            "transaction failed"
        );
        if !connection.is_autocommit() && connection.execute_batch("rollback").is_err() {
            tracing::error!("transaction can't be rolled back");
        }
        batches.iter().map(|_| Err(error.clone().into())).collect()
    })
}

/// Writes and commits; an error means that nothing of the group is written.
fn apply_group(connection: &Connection, batches: &[Batch]) -> Result<Vec<Reply>, Error> {
    execute(connection, "begin immediate")?;
    let mut replies = Vec::with_capacity(batches.len());
    for batch in batches {
        execute(connection, "savepoint batch")?;
        let reply = apply(connection, batch);
        match &reply {
            // The error (a full disk, say) has already ended the transaction: the whole group is lost to it.
            Err(WriteError::Failed(error)) if connection.is_autocommit() => return Err(error.clone()),
            Err(_) => execute(connection, "rollback to batch")?,
            Ok(_) => {}
        }
        execute(connection, "release batch")?;
        replies.push(reply);
    }
    execute(connection, "commit")?;
    failpoint::passed(|| Batch::describe(batches));
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
