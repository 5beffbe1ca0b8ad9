//! SQLite: one thread writes, a few read.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_core::model::host::HostKey;
use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, ffi};

use super::sqlite_connection::{BUSY, connect};
use super::sqlite_reader::Readers;
use super::writer::Writer;
use super::{sqlite_value, sqlite_writer};
use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::error::{Error, OpenError, WriteError};
use crate::host_key;
use crate::schema;
use crate::statement::{Output, Statement};
use crate::value::{Row, Value};

/// How long it waits before it asks again for what it has to have alone.
const AGAIN: Duration = Duration::from_millis(10);

const CHECK_IN: &str =
    "update check_ins set at = $3 where infra_env_id = $1 and host_id = $2 and (at is null or at < $3)";

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
}

impl Sqlite {
    pub(super) async fn open(path: &Path, feed: &Arc<ChangeFeed>) -> Result<Self, OpenError> {
        let (path, feed) = (path.to_owned(), Arc::clone(feed));
        let opened = tokio::task::spawn_blocking(move || Self::open_blocking(&path, feed)).await;
        opened.map_err(|_| Error::Closed)?
    }

    fn open_blocking(path: &Path, feed: Arc<ChangeFeed>) -> Result<Self, OpenError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        // The database holds secrets; its journal gets the mode of the file.
        OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;

        let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // Two that make the same database hold it shared, each, when they ask to have it alone.
        wait_until_free(|| connection.pragma_update(None, "journal_mode", "wal"))?;
        connection.pragma_update(None, "synchronous", "full").map_err(Error::from)?;
        migrate(&mut connection)?;

        Ok(Self {
            path: path.to_owned(),
            writer: sqlite_writer::start(connection, feed)?,
            readers: Readers::start(path)?,
        })
    }

    pub(super) async fn writer_ended(&self) {
        self.writer.ended().await;
    }

    pub(super) async fn write(&self, batch: Batch) -> Result<Vec<Output>, WriteError> {
        self.writer.write(batch).await
    }

    /// Answers the queries from one state of the database.
    pub(super) async fn read(&self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, Error> {
        self.readers.read(statements).await
    }

    /// Writes the file anew without what is no longer in it, and empties the journal.
    pub(super) async fn clear_remains(&self) -> Result<(), Error> {
        let path = self.path.clone();
        let cleared = tokio::task::spawn_blocking(move || {
            let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.execute_batch("vacuum")?;
            wait_until_free(|| truncate_log(&connection))
        });
        cleared.await.map_err(|_| Error::Closed)?
    }

    pub(super) async fn flush_checkins(
        &self,
        latest: &BTreeMap<HostKey, Timestamp>,
    ) -> Result<(), WriteError> {
        let mut batch = Batch::new();
        for (key, at) in latest {
            let mut params = host_key::params(*key);
            params.push(Value::from(*at));
            batch.push(Statement::new(CHECK_IN, params));
        }
        self.write(batch).await.map(drop)
    }
}

/// Repeats what SQLite refuses at once where others are busy with the database, without the wait that connections have otherwise.
fn wait_until_free(mut attempt: impl FnMut() -> rusqlite::Result<()>) -> Result<(), Error> {
    let until = Instant::now() + BUSY;
    loop {
        match attempt() {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until =>
            {
                std::thread::sleep(AGAIN);
            }
            outcome => return Ok(outcome?),
        }
    }
}

/// Empties the log.
fn truncate_log(connection: &Connection) -> rusqlite::Result<()> {
    let busy = connection.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
    if busy { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None)) } else { Ok(()) }
}

fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    // Immediate: two programs that start at once must not both find the database empty.
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::from)?;
    transaction.execute_batch(schema::CREATE_VERSIONS).map_err(Error::from)?;
    let found: i64 = transaction.query_row(schema::CURRENT, [], |row| row.get(0)).map_err(Error::from)?;
    if found == 0 {
        let other = transaction.query_row(schema::OF_OTHERS_IN_SQLITE, [], |row| row.get(0));
        if let Some(table) = other.optional().map_err(Error::from)? {
            return Err(OpenError::OfOthers { table });
        }
    }
    for (version, migration) in schema::missing(found)? {
        apply_migration(&transaction, version, migration)?;
    }
    transaction.commit().map_err(Error::from)?;
    Ok(())
}

/// Makes a version of the schema from the one before it.
pub(super) fn apply_migration(
    connection: &Connection,
    version: i64,
    migration: &schema::Migration,
) -> Result<(), OpenError> {
    let failed = |source| OpenError::Migration { version, source };
    connection.execute_batch(&migration.for_sqlite()).map_err(|error| failed(error.into()))?;
    let record = Statement::new(schema::RECORD, vec![version.into(), schema::now().into()]);
    sqlite_value::run(connection, &record).map(drop).map_err(failed)
}

/// How SQLite goes about a statement, step by step.
#[cfg(test)]
pub(crate) fn plan(sql: &str) -> Vec<String> {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection).unwrap();
    let explain = format!("explain query plan {}", sqlite_value::adapt(sql));
    let mut statement = connection.prepare(&explain).unwrap();
    let steps = statement.raw_query().mapped(|row| row.get("detail"));
    steps.collect::<Result<_, _>>().unwrap()
}
