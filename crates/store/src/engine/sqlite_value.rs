//! Values and statements as SQLite takes them.

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

use crate::error::Error;
use crate::statement::{Output, Statement};
use crate::value::{Row, Value};

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Uuid(value) => ValueRef::Blob(value.as_bytes()),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Static(text) => ValueRef::Text(text.as_bytes()),
            Self::Shared(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::Unsealed(_) => {
                return Err(rusqlite::Error::ToSqlConversionFailure("a document is not sealed".into()));
            }
            Self::List(_) => {
                return Err(rusqlite::Error::ToSqlConversionFailure("SQLite has no lists".into()));
            }
        }))
    }
}

pub(super) fn from_sqlite(value: ValueRef<'_>) -> Result<Value, Error> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Text(text) => Value::Text(
            String::from_utf8(text.to_vec()).map_err(|_| Error::Corrupt("a text is not UTF-8".to_owned()))?,
        ),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => return Err(Error::Corrupt("a column is a floating-point number".to_owned())),
    })
}

/// SQLite numbers its parameters `?1`; `$1` would be a name. It has one writer, so nothing to skip.
pub(super) fn adapt(sql: &str) -> String {
    sql.replace('$', "?").replace(" for update skip locked", "")
}

/// Runs one statement.
pub(super) fn run(connection: &Connection, statement: &Statement) -> Result<Output, Error> {
    let mut prepared: CachedStatement<'_> = connection.prepare_cached(&adapt(&statement.sql))?;
    let columns = prepared.column_count();
    let params = rusqlite::params_from_iter(&statement.params);
    if columns == 0 {
        let affected = prepared.execute(params)?;
        return Ok(Output { rows: Vec::new(), affected: affected as u64 });
    }
    let mut output = Output::default();
    let mut rows = prepared.query(params)?;
    while let Some(row) = rows.next()? {
        let values =
            (0..columns).map(|column| from_sqlite(row.get_ref(column)?)).collect::<Result<_, _>>()?;
        output.rows.push(Row(values));
    }
    output.affected = output.rows.len() as u64;
    Ok(output)
}

/// Runs what has no parameters and answers nothing.
pub(super) fn execute(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
