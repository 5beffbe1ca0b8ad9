//! The two engines behind one face.

mod pipeline;
mod postgres;
mod postgres_group;
mod postgres_listener;
mod postgres_value;
mod sqlite;
mod sqlite_value;
mod sqlite_writer;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use assisted_core::host::record::HostKey;
use jiff::Timestamp;

use crate::batch::Batch;
use crate::error::{Error, OpenError, WriteError};
use crate::news::News;
use crate::statement::{Output, Statement};
use crate::value::Row;

use self::postgres::Postgres;
use self::sqlite::Sqlite;

#[derive(Debug)]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Engine {
    pub(crate) async fn open(address: &str, news: &Arc<News>) -> Result<Self, OpenError> {
        if address.starts_with("postgres://") || address.starts_with("postgresql://") {
            return Postgres::open(address, news).await.map(Self::Postgres);
        }
        let path = match address.split_once(':') {
            Some(("sqlite", path)) => path.strip_prefix("//").unwrap_or(path),
            // Told without its rest, which may hold a password.
            Some((scheme, _)) if !scheme.contains(['/', '.']) => {
                return Err(OpenError::Address(scheme.to_owned()));
            }
            _ => address,
        };
        if path.is_empty() {
            return Err(OpenError::Address("it is empty".to_owned()));
        }
        Sqlite::open(Path::new(path), news).await.map(Self::Sqlite)
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
