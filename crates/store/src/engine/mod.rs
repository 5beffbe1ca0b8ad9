//! SQLite and PostgreSQL behind one interface.

mod pipeline;
pub(crate) mod postgres;
mod postgres_copy;
mod postgres_group;
mod postgres_listener;
mod postgres_tls;
mod postgres_value;
mod sqlite;
mod sqlite_connection;
mod sqlite_copy;
mod sqlite_reader;
mod sqlite_value;
mod sqlite_writer;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assisted_core::model::host::HostKey;
use jiff::Timestamp;
use tokio::sync::mpsc;

use crate::batch::Batch;
use crate::change_feed::ChangeFeed;
use crate::copied::{Copied, CopyError, CopyRow};
use crate::error::{Error, OpenError, WriteError};
use crate::options::Options;
use crate::statement::{Output, Statement};
use crate::value::Row;

use self::postgres::Postgres;
use self::sqlite::Sqlite;
#[cfg(test)]
pub(crate) use self::sqlite::plan;

#[derive(Debug)]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Engine {
    pub(crate) async fn open(
        address: &str,
        options: &Options,
        feed: &Arc<ChangeFeed>,
    ) -> Result<Self, OpenError> {
        if is_postgres(address) {
            return Postgres::open(address, options, feed).await.map(Self::Postgres);
        }
        Sqlite::open(&file(address)?, feed).await.map(Self::Sqlite)
    }

    /// Whether several processes may be at work on the database.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Returns when nobody writes any more.
    pub(crate) async fn writer_ended(&self) {
        match self {
            Self::Sqlite(sqlite) => sqlite.writer_ended().await,
            Self::Postgres(postgres) => postgres.writer_ended().await,
        }
    }

    pub(crate) async fn write(&self, batch: Batch) -> Result<Vec<Output>, WriteError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.write(batch).await,
            Self::Postgres(postgres) => postgres.write(batch).await,
        }
    }

    pub(crate) async fn read(&self, statements: Vec<Statement>) -> Result<Vec<Vec<Row>>, Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.read(statements).await,
            Self::Postgres(postgres) => postgres.read(statements).await,
        }
    }

    /// Gives up what deleted and rewritten rows have left behind.
    pub(crate) async fn clear_remains(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(sqlite) => sqlite.clear_remains().await,
            Self::Postgres(_) => Ok(()),
        }
    }

    pub(crate) async fn flush_checkins(
        &self,
        latest: &BTreeMap<HostKey, Timestamp>,
    ) -> Result<(), WriteError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.flush_checkins(latest).await,
            Self::Postgres(postgres) => postgres.flush_checkins(latest).await,
        }
    }
}

fn is_postgres(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// Sends every row of a database; gives the version of its schema.
pub(crate) async fn dump(
    address: &str,
    options: &Options,
    rows: mpsc::Sender<CopyRow>,
) -> Result<i64, CopyError> {
    if is_postgres(address) {
        return postgres_copy::dump(address, options, rows).await;
    }
    let path = file(address)?;
    let dumped = tokio::task::spawn_blocking(move || sqlite_copy::dump(&path, &rows)).await;
    dumped.map_err(|_| Error::Closed)?
}

/// Makes a database of rows of a schema; `after` is run once it has the newest one.
pub(crate) async fn load(
    address: &str,
    options: &Options,
    schema: i64,
    rows: mpsc::Receiver<Copied>,
    after: Vec<Statement>,
) -> Result<(), CopyError> {
    if is_postgres(address) {
        return postgres_copy::load(address, options, schema, rows, &after).await;
    }
    let path = file(address)?;
    let loaded = tokio::task::spawn_blocking(move || sqlite_copy::load(&path, schema, rows, &after)).await;
    loaded.map_err(|_| Error::Closed)?
}

/// The file that an address means.
fn file(address: &str) -> Result<PathBuf, OpenError> {
    let refused = |why: String| Err(OpenError::Address(why));
    match address.split_once(':') {
        _ if address.is_empty() => refused("it is empty".to_owned()),
        Some(("sqlite", "" | "//")) => refused("sqlite: has no path after it".to_owned()),
        Some(("sqlite", path)) => Ok(path.strip_prefix("//").unwrap_or(path).into()),
        // Told without its rest, which may hold a password.
        Some((scheme, _)) if !scheme.contains(['/', '.']) => {
            refused(format!("nothing is known of databases that begin with {scheme}:"))
        }
        // A word is rather a mistake than a file in whatever folder this was started in.
        _ if !address.contains('/') => {
            refused(format!("{address} is neither; write sqlite:{address} if it is a file"))
        }
        _ => match Path::new(address).parent() {
            Some(folder) if folder.is_dir() => Ok(address.into()),
            folder => {
                let folder = folder.unwrap_or(Path::new("/")).display();
                refused(format!("there is no folder {folder}; write sqlite:{address} to have it made"))
            }
        },
    }
}
