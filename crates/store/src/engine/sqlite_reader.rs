//! The threads that read from SQLite, each with a connection of its own.
//!
//! They take what is to be read from one queue, so that one that has much to do need not be woken for each query, as a thread of the
//! runtime would be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use super::sqlite_connection;
use super::sqlite_value::{self, execute};
use crate::error::{Error, OpenError};
use crate::statement::Statement;
use crate::value::Row;

/// Connections that read; more would only wait for each other's share of the processor.
const READERS: usize = 4;

/// Prepared statements that one of them keeps: some KiB each.
const PREPARED: usize = 64;

/// Pages that one of them keeps, in KiB; the system has them in memory as well, for all.
const PAGES: i64 = 512;

type Query = Box<dyn FnOnce(&Connection) + Send>;

/// Where queries are handed in. Dropped, it ends the threads once what is in the queue is answered.
#[derive(Debug)]
pub(super) struct Readers(Sender<Query>);

impl Readers {
    /// Starts the threads.
    pub(super) fn start(path: &Path) -> Result<Self, OpenError> {
        let (readers, queue) = unbounded();
        for _ in 0..READERS {
            let connection = connect(path)?;
            let queue = queue.clone();
            thread::Builder::new()
                .name("sqlite-reader".to_owned())
                .spawn(move || answer(&connection, &queue))?;
        }
        Ok(Self(readers))
    }

    /// Answers the queries from one state of the database.
    pub(super) async fn read(&self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, Error> {
        self.look(move |connection| read(connection, &statements)).await
    }

    /// Does something with a connection.
    async fn look<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, answer) = oneshot::channel();
        let query = move |connection: &Connection| {
            // Who went away while it was in the queue needs no answer.
            if !sender.is_closed() {
                let _ = sender.send(query(connection));
            }
        };
        self.0.send(Box::new(query)).map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let connection = sqlite_connection::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -PAGES)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    Ok(connection)
}

fn answer(connection: &Connection, queue: &Receiver<Query>) {
    for query in queue {
        // Whoever waits for a query that panics is told, as its channel is gone.
        let _ = catch_unwind(AssertUnwindSafe(|| query(connection)));
        if !connection.is_autocommit() {
            let _ = execute(connection, "rollback");
        }
    }
}

fn read(connection: &Connection, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Error> {
    execute(connection, "begin")?;
    let run = |statement| sqlite_value::run(connection, statement).map(|output| output.rows);
    let answers = statements.iter().map(run).collect::<Result<_, _>>()?;
    execute(connection, "commit")?;
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_query_that_panics_takes_no_reader_along() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.db");
        std::fs::File::create(&path).unwrap();
        let readers = Readers::start(&path).unwrap();
        // Once more than there are.
        for _ in 0..=READERS {
            let looked = readers.look(|connection| -> Result<(), Error> {
                execute(connection, "begin")?;
                panic!("a query panics")
            });
            let looked = looked.await;
            assert!(matches!(looked, Err(Error::Closed)), "{looked:?}");
        }
        let one = || readers.read(vec![Statement::new("select 1", Vec::new())]);
        for rows in futures::future::join_all((0..READERS).map(|_| one())).await {
            assert_eq!(rows.unwrap()[0][0].int(0).unwrap(), 1);
        }
    }
}
