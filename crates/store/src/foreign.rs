//! A PostgreSQL database of another program, to be read: everything from one state of it, whoever writes to it meanwhile.

use serde_json::Value;
use tokio_postgres::Client;
use tokio_util::task::AbortOnDropHandle;

use crate::engine::postgres;
use crate::error::{Error, OpenError};
use crate::options::Options;

const BEGIN: &str = "begin isolation level repeatable read read only; set local statement_timeout = 0; \
     set local idle_in_transaction_session_timeout = 0; set local timezone = 'UTC'";

/// A database of another program.
#[derive(Debug)]
pub struct Foreign {
    client: Client,
    _connection: AbortOnDropHandle<()>,
}

impl Foreign {
    /// Opens it. Nothing can be written through this.
    ///
    /// # Errors
    /// When it can't be reached.
    pub async fn open(address: &str, options: &Options) -> Result<Self, OpenError> {
        let (client, connection) = postgres::connect(address, options).await?;
        client.batch_execute(BEGIN).await.map_err(Error::from)?;
        Ok(Self { client, _connection: connection })
    }

    /// Whether there is a table.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn has_table(&self, name: &str) -> Result<bool, Error> {
        let found = self.client.query_one("select to_regclass($1::text) is not null", &[&name]).await?;
        Ok(found.get(0))
    }

    /// How many rows of a table there are; `rest` as with [`Self::rows`].
    ///
    /// # Errors
    /// When the database fails.
    pub async fn count(&self, table: &str, rest: &str) -> Result<i64, Error> {
        Ok(self.client.query_one(&format!("select count(*) from {table} t {rest}"), &[]).await?.get(0))
    }

    /// The rows of a table as JSON objects, with every column that it has, whatever its type. `rest` is what follows the table's
    /// name, which is `t` there, and may name one parameter, `$1`.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn rows(&self, table: &str, rest: &str, param: Option<&str>) -> Result<Vec<Value>, Error> {
        let sql = format!("select to_jsonb(t)::text from {table} t {rest}");
        let rows = match param {
            Some(param) => self.client.query(&sql, &[&param]).await?,
            None => self.client.query(&sql, &[]).await?,
        };
        let read = |row: tokio_postgres::Row| {
            // The text may hold secrets: it is not quoted.
            let text: &str = row.try_get(0)?;
            serde_json::from_str(text).map_err(|_| Error::Corrupt(format!("a row of {table} is no JSON")))
        };
        rows.into_iter().map(read).collect()
    }
}
