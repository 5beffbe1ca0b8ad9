//! The tables of a schema, with their columns: what the migrations up to it make.

use rusqlite::Connection;

use crate::error::{Error, OpenError};
use crate::schema;

/// What the migrations are recorded in; it is written by whoever lays a schema.
const VERSIONS: &str = "schema_versions";

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyTable {
    pub name: String,
    pub(crate) columns: Vec<CopyColumn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyColumn {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    /// Numbers that the database gives out.
    Serial,
    Text,
    Uuid,
    Bytes,
}

/// Why a schema has no tables.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error(transparent)]
    Unknown(Box<OpenError>),
    #[error("the tables of schema {schema} can't be told")]
    Laid { schema: i64, source: Error },
    #[error("the column {column} of {table} has a type that can't be copied")]
    Kind { table: String, column: String },
}

impl CopyTable {
    /// The columns' names with commas between them.
    pub(crate) fn names(&self) -> String {
        self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn select(&self) -> String {
        format!("select {} from {}", self.names(), self.name)
    }

    pub(crate) fn insert(&self) -> String {
        let params: Vec<_> = (1..=self.columns.len()).map(|n| format!("${n}")).collect();
        format!("insert into {} ({}) values ({})", self.name, self.names(), params.join(", "))
    }

    /// The column whose numbers the database gives out.
    pub(crate) fn serial(&self) -> Option<&str> {
        self.columns.iter().find(|column| column.kind == Kind::Serial).map(|column| column.name.as_str())
    }
}

/// The tables of a schema that this program knows, in the order of their names.
///
/// # Errors
/// When it does not know the schema.
pub fn tables(schema: i64) -> Result<Vec<CopyTable>, SchemaError> {
    let unknown = |error| SchemaError::Unknown(Box::new(error));
    let laid = |source: rusqlite::Error| SchemaError::Laid { schema, source: source.into() };
    let connection = Connection::open_in_memory().map_err(laid)?;
    for migration in schema::up_to(schema).map_err(unknown)? {
        connection.execute_batch(&migration.for_sqlite()).map_err(laid)?;
    }
    let mut found = connection
        .prepare(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name",
        )
        .map_err(laid)?;
    let names = found.query_map([], |row| row.get::<_, String>(0)).map_err(laid)?;
    let names = names.collect::<Result<Vec<_>, _>>().map_err(laid)?;
    let tables = names.into_iter().filter(|name| name != VERSIONS).map(|name| {
        let mut described =
            connection.prepare("select name, type from pragma_table_info(?1)").map_err(laid)?;
        let columns = described
            .query_map([&name], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .map_err(laid)?
            .collect::<Result<Vec<_>, _>>()
            .map_err(laid)?;
        let columns = columns.into_iter().map(|(column, kind)| match Kind::of(&kind) {
            Some(kind) => Ok(CopyColumn { name: column, kind }),
            None => Err(SchemaError::Kind { table: name.clone(), column }),
        });
        Ok(CopyTable { columns: columns.collect::<Result<_, _>>()?, name })
    });
    tables.collect()
}

impl Kind {
    /// The kind that a migration names.
    fn of(declared: &str) -> Option<Self> {
        Some(match declared.to_ascii_lowercase().as_str() {
            "bigint" => Self::Int,
            "integer" => Self::Serial,
            "text" => Self::Text,
            "uuid" => Self::Uuid,
            "bytea" => Self::Bytes,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_has_tables_that_can_be_copied() {
        let newest = schema::newest();
        let count = |schema| tables(schema).unwrap().len();
        assert!((1..newest).all(|schema| count(schema) <= count(schema + 1)));
        let all = tables(newest).unwrap();
        let names: Vec<_> = all.iter().map(|table| table.name.as_str()).collect();
        for expected in ["actions", "clusters", "due", "events", "hosts", "reports", "seal_keys", "users"] {
            assert!(names.contains(&expected), "{names:?}");
        }
        assert!(!names.contains(&VERSIONS));
        let serial: Vec<_> = all.iter().filter_map(CopyTable::serial).collect();
        assert!(serial.len() >= 2 && serial.iter().all(|column| *column == "id"), "{serial:?}");
    }

    #[test]
    fn an_unknown_schema_is_refused() {
        assert!(matches!(tables(schema::newest() + 1), Err(SchemaError::Unknown(_))));
        assert!(matches!(tables(0), Err(SchemaError::Unknown(_))));
    }
}
