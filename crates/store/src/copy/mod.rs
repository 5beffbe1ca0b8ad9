//! A database as a whole: read from one state of it while others work on it, and put into one that is new, of another engine too.
//!
//! Rows are lines of JSON, each the array of a row's cells in the order of its table's columns. Nothing is opened: what is sealed
//! stays as it is, and since a document is sealed for its table and key, it can be opened wherever it comes to stand.

mod line;
mod table;

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::engine;
use crate::error::OpenError;
use crate::options::Options;
use crate::schema;

pub(crate) use line::{read, write};
pub use table::{CopyTable, SchemaError, tables};

/// A row on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRow {
    pub table: Arc<str>,
    /// JSON, without a line feed.
    pub line: String,
}

/// What comes to a database that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copied {
    Row(CopyRow),
    /// Everything has come, and is what it should be. Whoever ends without this changes nothing.
    End,
}

/// Why a database can't be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("there is no database {0}")]
    Missing(String),
    #[error("the database has no tables of this program: there is nothing to copy")]
    Empty,
    #[error("there is a database already, {0}: choose another one that is new")]
    Occupied(String),
    #[error("a row of the table {table} is not what the table holds: {why}")]
    Row { table: String, why: String },
    #[error("nobody takes the rows any more")]
    Stopped,
    #[error("not all rows came: nothing was changed")]
    Unfinished,
}

impl From<crate::error::Error> for CopyError {
    fn from(error: crate::error::Error) -> Self {
        Self::Open(error.into())
    }
}

/// The newest schema that this program knows.
pub fn newest_schema() -> i64 {
    schema::newest()
}

/// Sends every row of a database, as they were at one moment; gives the version of its schema. Nothing is changed, not even the
/// schema.
///
/// # Errors
/// When the database fails or is none of ours.
pub async fn dump(address: &str, options: &Options, rows: mpsc::Sender<CopyRow>) -> Result<i64, CopyError> {
    engine::dump(address, options, rows).await
}

/// Makes a database of rows of a schema, and brings it to the newest one. All of it is there when this returns, or nothing.
///
/// # Errors
/// When there is something already, when a row is none of its table, and when the rows end too early.
pub async fn load(
    address: &str,
    options: &Options,
    schema: i64,
    rows: mpsc::Receiver<Copied>,
) -> Result<(), CopyError> {
    engine::load(address, options, schema, rows).await
}

/// Whether a line is a row of a table, without a database.
///
/// # Errors
/// When it is not.
pub fn check(table: &CopyTable, line: &str) -> Result<(), CopyError> {
    read(table, line).map(drop)
}
