//! Connections to SQLite, as all have them.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;

/// Prepared statements that a connection keeps, unless it only reads: some KiB each.
const PREPARED: usize = 256;

/// How long another process (a backup, say) may hold the database.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// Opens the database.
pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Error> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    // A statement is planned once, and not anew with each value of its limit.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    // SQLite's own knows ASCII only.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("lower", 1, flags, |context| {
        Ok(context.get_raw(0).as_str()?.to_lowercase())
    })?;
    Ok(connection)
}
