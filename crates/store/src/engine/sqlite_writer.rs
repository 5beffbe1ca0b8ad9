//! The one thread that writes to SQLite.
//!
//! It commits whatever has queued in one transaction, so that many small batches share one flush to disk, and then one large batch.
//! Each batch is a savepoint: one that fails leaves the others alone. No write is acknowledged before the commit.
//!
//! What is in SQLite's log has to go into the database file now and then. SQLite would do that at the end of a commit, which then takes
//! twice as long; here it is a step of its own, before which others have their turn, as before a large batch.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use assisted_base::failpoint;
use rusqlite::Connection;

use super::sqlite_value::{self, execute};
use super::writer::{self, Group, Job, Reply, Writer};
use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::error::{Error, OpenError, WriteError};

/// Batches in one transaction.
const GROUP: usize = 256;

/// How long a large batch waits for others that write once more: what follows from a report is seen after three writes, each of which begins
/// when the one before it has ended.
const GRACE: Duration = Duration::from_millis(5);

/// How often in a row a large batch lets others go first.
const GRACES: u32 = 8;

/// Pages of 4 KiB in the log from which on they are moved into the file: as SQLite has it.
const LONG_LOG: u32 = 1000;

thread_local! {
    /// Pages in the log since the last commit of this thread.
    static LOG: Cell<u32> = const { Cell::new(0) };
}

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
        // In place of the hook with which SQLite would move the log.
        connection.wal_hook(Some(|_, pages| {
            LOG.set(u32::try_from(pages).unwrap_or_default());
            Ok(())
        }));
        let (mut jobs, mut large) = (Vec::with_capacity(GROUP), VecDeque::new());
        let (mut moved, mut graces) = (false, 0);
        loop {
            let long_log = LOG.get() >= LONG_LOG;
            if long_log || !large.is_empty() {
                if !large.is_empty() {
                    thread::sleep(GRACE);
                }
                // What came meanwhile goes first.
                jobs.extend(std::iter::from_fn(|| queue.try_recv().ok()).take(GROUP));
            } else if queue.blocking_recv_many(&mut jobs, GROUP) == 0 {
                break;
            }
            large.extend(writer::take_large(&mut jobs));
            let others = !jobs.is_empty();
            write(&mut jobs);
            if others && !large.is_empty() && graces < GRACES {
                graces += 1;
                continue;
            }
            graces = 0;
            // In turn, for somebody who reads may keep the log long.
            moved = long_log && !moved;
            if moved {
                move_log(&connection);
            } else {
                write(&mut large.pop_front().into_iter().collect());
            }
        }
    })?;
    Ok(writer)
}

/// Moves the log into the file, but for what somebody still reads; when all is moved, the next write begins it anew.
fn move_log(connection: &Connection) {
    LOG.set(0);
    if let Err(error) = connection.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(())) {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "the log of the database can't be moved into its file; it grows meanwhile"
        );
    }
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
