//! An SQLite database as a whole.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use tokio::sync::mpsc;

use super::sqlite::apply_migration;
use super::sqlite_connection::connect;
use super::sqlite_value;
use crate::copied::{self, Copied, CopyError, CopyRow, CopyTable, tables};
use crate::error::{Error, OpenError};
use crate::schema;
use crate::statement::Statement;
use crate::value::Row;

/// Sends every row, from one transaction: what is written meanwhile is not in it.
pub(super) fn dump(path: &Path, rows: &mpsc::Sender<CopyRow>) -> Result<i64, CopyError> {
    if !path.is_file() {
        return Err(CopyError::Missing(path.display().to_string()));
    }
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true).map_err(Error::from)?;
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(Error::from)?;
    let laid = transaction
        .query_row("select 1 from sqlite_master where name = 'schema_versions'", [], |_| Ok(()))
        .optional()
        .map_err(Error::from)?;
    let schema: i64 = match laid {
        Some(()) => transaction.query_row(schema::CURRENT, [], |row| row.get(0)).map_err(Error::from)?,
        None => 0,
    };
    if schema == 0 {
        return Err(CopyError::Empty);
    }
    for table in tables(schema)? {
        dump_table(&transaction, &table, rows)?;
    }
    Ok(schema)
}

fn dump_table(
    connection: &Connection,
    table: &CopyTable,
    rows: &mpsc::Sender<CopyRow>,
) -> Result<(), CopyError> {
    let name: Arc<str> = table.name.as_str().into();
    let mut select = connection.prepare(&table.select()).map_err(Error::from)?;
    let columns = select.column_count();
    let mut found = select.query([]).map_err(Error::from)?;
    while let Some(row) = found.next().map_err(Error::from)? {
        let values = (0..columns)
            .map(|column| sqlite_value::from_sqlite(row.get_ref(column)?))
            .collect::<Result<_, Error>>()?;
        let line = copied::write(table, Row(values))?;
        let sent = rows.blocking_send(CopyRow { table: Arc::clone(&name), line });
        sent.map_err(|_| CopyError::Stopped)?;
    }
    Ok(())
}

/// A file that is deleted unless it is kept, with what SQLite puts beside it.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(beside(&self.0, "-journal"));
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes a database beside where it is to be, and gives it its name once it is whole.
pub(super) fn load(
    path: &Path,
    schema: i64,
    rows: mpsc::Receiver<Copied>,
    after: &[Statement],
) -> Result<(), CopyError> {
    if path.exists() {
        return Err(CopyError::Occupied(path.display().to_string()));
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(OpenError::File)?;
    }
    let draft = Draft(beside(path, ".restoring"));
    drop(Draft(draft.0.clone()));
    OpenOptions::new().create_new(true).append(true).mode(0o600).open(&draft.0).map_err(OpenError::File)?;
    let mut connection = connect(&draft.0, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "synchronous", "full").map_err(Error::from)?;
    fill(&mut connection, schema, rows, after)?;
    connection.close().map_err(|(_, error)| Error::from(error))?;
    // A link fails where a rename would put it in the place of a database that was made meanwhile.
    fs::hard_link(&draft.0, path).map_err(OpenError::File)?;
    if let Some(folder) = path.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(OpenError::File)?;
    }
    Ok(())
}

fn fill(
    connection: &mut Connection,
    schema: i64,
    mut rows: mpsc::Receiver<Copied>,
    after: &[Statement],
) -> Result<(), CopyError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(Error::from)?;
    transaction.execute_batch(schema::CREATE_VERSIONS).map_err(Error::from)?;
    for (version, migration) in (1..).zip(schema::up_to(schema)?) {
        apply_migration(&transaction, version, migration)?;
    }
    let tables: BTreeMap<_, _> =
        tables(schema)?.into_iter().map(|table| (table.name.clone(), table)).collect();
    loop {
        match rows.blocking_recv() {
            Some(Copied::Row(row)) => {
                let table = tables.get(&*row.table).ok_or_else(|| CopyError::Row {
                    table: row.table.to_string(),
                    why: "there is no such table".to_owned(),
                })?;
                let mut insert = Statement::new("", copied::read(table, &row.line)?);
                insert.sql = table.insert().into();
                sqlite_value::run(&transaction, &insert)?;
            }
            Some(Copied::End) => break,
            None => return Err(CopyError::Unfinished),
        }
    }
    for (version, migration) in schema::missing(schema)? {
        apply_migration(&transaction, version, migration)?;
    }
    for statement in after {
        sqlite_value::run(&transaction, statement)?;
    }
    transaction.commit().map_err(Error::from)?;
    Ok(())
}
