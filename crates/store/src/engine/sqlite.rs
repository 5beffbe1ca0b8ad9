//! SQLite: one thread writes, a few connections read.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use assisted_core::model::host::HostKey;
use jiff::Timestamp;
use parking_lot::Mutex;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, ffi};
use tokio::sync::Semaphore;

use super::writer::Writer;
use super::{sqlite_value, sqlite_writer};
use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::error::{Error, OpenError, WriteError};
use crate::host_key;
use crate::schema;
use crate::statement::{Output, Statement};
use crate::value::{Row, Value};

/// Connections that read; more would only wait for each other's share of the processor.
const READERS: usize = 4;

/// Prepared statements that a connection keeps: some KiB each.
const PREPARED: usize = 256;
const PREPARED_BY_READER: usize = 64;

/// Pages that a connection which reads keeps, in KiB; the system has them in memory as well, for all.
const PAGES_OF_READER: i64 = 512;

/// How long another process (a backup, say) may hold the database.
const BUSY: Duration = Duration::from_secs(10);

/// How long it waits before it asks again for what it has to have alone.
const AGAIN: Duration = Duration::from_millis(10);

const CHECK_IN: &str =
    "update check_ins set at = $3 where infra_env_id = $1 and host_id = $2 and (at is null or at < $3)";

#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    writer: Writer,
    readers: Arc<Readers>,
}

#[derive(Debug)]
struct Readers {
    free: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

/// A connection that goes back to the others, also when a query panics.
struct PooledReader<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        self.readers.free.lock().extend(self.connection.take());
    }
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

        let mut readers = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            let reader = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            reader.pragma_update(None, "query_only", true).map_err(Error::from)?;
            reader.pragma_update(None, "cache_size", -PAGES_OF_READER).map_err(Error::from)?;
            reader.set_prepared_statement_cache_capacity(PREPARED_BY_READER);
            readers.push(reader);
        }
        let readers = Readers { free: Mutex::new(readers), permits: Arc::new(Semaphore::new(READERS)) };
        Ok(Self {
            path: path.to_owned(),
            writer: sqlite_writer::start(connection, feed)?,
            readers: Arc::new(readers),
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
        self.look(move |connection| read(connection, &statements)).await
    }

    /// Does something with a connection that reads.
    async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let readers = Arc::clone(&self.readers);
        let permit = Arc::clone(&readers.permits).acquire_owned().await.map_err(|_| Error::Closed)?;
        let read = tokio::task::spawn_blocking(move || {
            // Held here, for a caller that goes away leaves its query running.
            let _permit = permit;
            let Some(connection) = readers.free.lock().pop() else { return Err(Error::Closed) };
            let mut lent = PooledReader { readers: &readers, connection: Some(connection) };
            lent.connection.as_mut().map_or(Err(Error::Closed), work)
        });
        read.await.map_err(|_| Error::Closed)?
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

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    // SQLite's own knows ASCII only.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("lower", 1, flags, |context| {
        Ok(context.get_raw(0).as_str()?.to_lowercase())
    })?;
    Ok(connection)
}

fn read(connection: &mut Connection, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    let answers = statements
        .iter()
        .map(|statement| sqlite_value::run(&transaction, statement).map(|output| output.rows))
        .collect::<Result<_, _>>()?;
    transaction.finish()?;
    Ok(answers)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_query_that_panics_takes_no_reader_along() {
        let dir = tempfile::tempdir().unwrap();
        let feed = Arc::new(ChangeFeed::default());
        let database = Sqlite::open(&dir.path().join("test.db"), &feed).await.unwrap();
        // Once more than there are.
        for _ in 0..=READERS {
            let looked = database.look(|_| -> Result<(), Error> { panic!("a query panics") }).await;
            assert!(matches!(looked, Err(Error::Closed)), "{looked:?}");
        }
        assert_eq!(database.readers.free.lock().len(), READERS);
        let reads = (0..READERS).map(|_| database.read(vec![Statement::new(schema::CURRENT, Vec::new())]));
        for rows in futures::future::join_all(reads).await {
            assert!(rows.unwrap()[0][0].int(0).unwrap() > 0);
        }
    }
}
