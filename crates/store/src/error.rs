//! The errors of this crate.

use std::error::Error as StdError;
use std::sync::Arc;

use assisted_base::pem::PemError;
use assisted_seal::{KeyId, SealError};
use tokio_postgres::error::SqlState;

use crate::subject::Subject;

/// The database can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the database's address is not sqlite:PATH, a path with a folder or postgres://…: {0}")]
    Address(String),
    #[error(
        "the database has schema {found}, this program knows none newer than {known}: it was last used by a newer program; \
         use that one, or restore a backup"
    )]
    NewerSchema { found: i64, known: i64 },
    #[error(
        "the database is another program's: it has a table {table} that this one has not made. If it is that of the service which this one \
         replaces, `assisted import --from postgres://…` takes over what is in it; give this service a database of its own. Nothing was changed"
    )]
    OfOthers { table: String },
    #[error("schema {version} can't be made")]
    Migration { version: i64, source: Error },
    #[error("the database can't be reached by TLS")]
    Tls(#[from] TlsError),
    #[error("the database's directory or file can't be made")]
    File(#[from] std::io::Error),
    #[error("the database can't be opened")]
    Database(#[from] Error),
}

/// Why the database can't be reached by TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the file with its authorities, {path}, can't be read")]
    Read { path: String, source: std::io::Error },
    #[error("the file with its authorities, {path}, holds no certificate in PEM form")]
    Pem { path: String, source: Option<PemError> },
    #[error("{0:?} is not disable, prefer, require or verify-full")]
    Mode(String),
    #[error("the system has no authorities: name a file with those of the database")]
    NoAuthorities,
    #[error("TLS can't be set up")]
    Setup(#[from] rustls::Error),
}

/// The database failed, or holds what can't be read.
///
/// One failure may be returned to all whose writes were in the same transaction, hence the shared causes.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("SQLite failed")]
    Sqlite(#[source] Arc<rusqlite::Error>),
    #[error("PostgreSQL failed")]
    Postgres(#[source] Arc<tokio_postgres::Error>),
    #[error("no connection to PostgreSQL")]
    Connection(#[source] Arc<deadpool_postgres::PoolError>),
    #[error("a record can't be written as JSON")]
    Encode(#[source] Arc<serde_json::Error>),
    #[error("the database holds what can't be read: {0}")]
    Corrupt(String),
    #[error("PostgreSQL does not answer")]
    Silent,
    #[error("the store is closed")]
    Closed,
    #[error("the secrets of a record can't be sealed or opened")]
    Seal(#[source] SealError),
    #[error("the database has sealed secrets, and no keys were given")]
    Locked,
}

impl Error {
    /// Whether the disk is full: the same succeeds once there is room.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(cause) => cause.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Postgres(cause) => cause.code() == Some(&SqlState::DISK_FULL),
            _ => false,
        }
    }

    /// Whether the database is away: it can't be reached, or is about to start or to end. The same may succeed later.
    pub fn is_away(&self) -> bool {
        use SqlState as State;
        // A statement that took too long for the server is one that waited for what is away.
        let passing = [
            State::ADMIN_SHUTDOWN,
            State::CRASH_SHUTDOWN,
            State::CANNOT_CONNECT_NOW,
            State::QUERY_CANCELED,
            State::TOO_MANY_CONNECTIONS,
            State::LOCK_NOT_AVAILABLE,
            // Of several servers another one takes the writes now.
            State::READ_ONLY_SQL_TRANSACTION,
        ];
        match self {
            Self::Connection(_) | Self::Silent => true,
            Self::Postgres(cause) => match cause.code() {
                Some(code) => passing.contains(code),
                None => cause.is_closed() || cause.source().is_some_and(<dyn StdError>::is::<std::io::Error>),
            },
            _ => false,
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(Arc::new(error))
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(Arc::new(error))
    }
}

impl From<deadpool_postgres::PoolError> for Error {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::Connection(Arc::new(error))
    }
}

/// The keys are not those of the database. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    #[error(
        "secrets in the database are sealed with the key {id}, and only {given} is given: give the key file that has it; nothing is \
         lost, and nothing was changed"
    )]
    Missing { id: KeyId, given: String },
    #[error("the keys of the database can't be checked")]
    Database(#[from] Error),
    #[error("the key can't be noted in the database")]
    Write(#[from] WriteError),
    #[error("the key can't be noted in the database, because others note theirs all the time")]
    Contended,
}

/// A batch was not applied; nothing of it is in the database.
///
/// The exception is a connection to PostgreSQL that breaks during the commit: then it is unknown, and the version guards
/// make a second try harmless.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// An insert found the row there, or an update found it at another version or gone: reload, decide again, retry.
    #[error("{what} was changed meanwhile")]
    Conflict { what: Subject },
    #[error(transparent)]
    Failed(#[from] Error),
}
