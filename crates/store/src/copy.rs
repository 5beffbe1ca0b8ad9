//! A database as a whole: read from one state of it while others work on it, and put into one that is new, of another engine too.
//!
//! Rows are lines of JSON, each the array of a row's cells in the order of its table's columns. Nothing is opened: what is sealed
//! stays as it is, and since a document is sealed for its table and key, it can be opened wherever it comes to stand.

use jiff::Timestamp;
use tokio::sync::mpsc;

pub use crate::copied::{Copied, CopyError, CopyRow, CopyTable, SchemaError, tables};
use crate::options::Options;
use crate::{copied, due, engine, schema};

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
    // Whoever had taken work does not live in the new one.
    engine::load(address, options, schema, rows, due::free(Timestamp::now()).into()).await
}

/// Whether a line is a row of a table, without a database.
///
/// # Errors
/// When it is not.
pub fn check(table: &CopyTable, line: &str) -> Result<(), CopyError> {
    copied::read(table, line).map(drop)
}
