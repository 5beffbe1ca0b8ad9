//! What a database is copied as: tables of a schema, and their rows as lines.

mod line;
mod table;

use std::sync::Arc;

use crate::error::OpenError;

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
