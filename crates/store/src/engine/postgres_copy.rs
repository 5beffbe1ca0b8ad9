//! A PostgreSQL database as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use tokio::sync::mpsc;
use tokio_postgres::{IsolationLevel, Transaction};

use super::{pipeline, postgres, postgres_value};
use crate::copied::{self, Copied, CopyError, CopyRow, CopyTable, tables};
use crate::error::Error;
use crate::options::Options;
use crate::schema;
use crate::statement::Statement;
use crate::value::Value;

/// Rows that are sent before the answer to the first of them is waited for.
const ROWS: usize = 200;

// Others may take their time between two rows, and a large table takes the time that it takes.
const UNHURRIED: &str = "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0";

const LAID: &str = "select to_regclass('schema_versions') is not null";

/// Sends every row, from one transaction: what is written meanwhile is not in it.
pub(super) async fn dump(
    address: &str,
    options: &Options,
    rows: mpsc::Sender<CopyRow>,
) -> Result<i64, CopyError> {
    let (mut client, _connection) = postgres::connect(address, options).await?;
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(Error::from)?;
    transaction.batch_execute(UNHURRIED).await.map_err(Error::from)?;
    if !is_laid(&transaction).await? {
        return Err(CopyError::Empty);
    }
    let schema: i64 = transaction.query_one(schema::CURRENT, &[]).await.map_err(Error::from)?.get(0);
    for table in tables(schema)? {
        let name: Arc<str> = table.name.as_str().into();
        let none: [Value; 0] = [];
        let found = transaction.query_raw(&table.select(), none).await.map_err(Error::from)?;
        futures::pin_mut!(found);
        while let Some(row) = found.try_next().await.map_err(Error::from)? {
            let line = copied::write(&table, postgres_value::from_postgres(&row).map_err(Error::from)?)?;
            let sent = rows.send(CopyRow { table: Arc::clone(&name), line }).await;
            sent.map_err(|_| CopyError::Stopped)?;
        }
    }
    Ok(schema)
}

async fn is_laid(transaction: &Transaction<'_>) -> Result<bool, Error> {
    Ok(transaction.query_one(LAID, &[]).await?.get(0))
}

/// Makes the schema, puts the rows into it and migrates it, in one transaction.
pub(super) async fn load(
    address: &str,
    options: &Options,
    schema: i64,
    mut rows: mpsc::Receiver<Copied>,
    after: &[Statement],
) -> Result<(), CopyError> {
    let (mut client, _connection) = postgres::connect(address, options).await?;
    let transaction = client.transaction().await.map_err(Error::from)?;
    transaction.batch_execute(UNHURRIED).await.map_err(Error::from)?;
    postgres::lock_schema(&transaction).await?;
    if is_laid(&transaction).await? {
        return Err(CopyError::Occupied("it has tables of this program".to_owned()));
    }
    transaction.batch_execute(schema::CREATE_VERSIONS).await.map_err(Error::from)?;
    for (version, migration) in (1..).zip(schema::up_to(schema)?) {
        postgres::apply_migration(&transaction, version, migration).await?;
    }
    let tables = tables(schema)?;
    fill(&transaction, &tables, &mut rows).await?;
    for table in &tables {
        if let Some(column) = table.serial() {
            let name = &table.name;
            let next = format!(
                "select setval(pg_get_serial_sequence('{name}', '{column}'), coalesce(max({column}), 1), max({column}) is not null) from {name}"
            );
            transaction.query_one(&next, &[]).await.map_err(Error::from)?;
        }
    }
    for (version, migration) in schema::missing(schema)? {
        postgres::apply_migration(&transaction, version, migration).await?;
    }
    for statement in after {
        run(&transaction, statement).await?;
    }
    transaction.commit().await.map_err(Error::from)?;
    Ok(())
}

async fn run(transaction: &Transaction<'_>, statement: &Statement) -> Result<(), Error> {
    let none = transaction.query_raw(&*statement.sql, &statement.params).await?;
    futures::pin_mut!(none);
    while none.try_next().await?.is_some() {}
    Ok(())
}

async fn fill(
    transaction: &Transaction<'_>,
    tables: &[CopyTable],
    rows: &mut mpsc::Receiver<Copied>,
) -> Result<(), CopyError> {
    let mut inserts = BTreeMap::new();
    for table in tables {
        let insert = transaction.prepare(&table.insert()).await.map_err(Error::from)?;
        inserts.insert(table.name.as_str(), (table, insert));
    }
    let mut received = Vec::with_capacity(ROWS);
    loop {
        if rows.recv_many(&mut received, ROWS).await == 0 {
            return Err(CopyError::Unfinished);
        }
        let mut read = Vec::with_capacity(received.len());
        let mut ended = false;
        for copied in received.drain(..) {
            let Copied::Row(row) = copied else {
                ended = true;
                break;
            };
            let (table, insert) = inserts.get(&*row.table).ok_or_else(|| CopyError::Row {
                table: row.table.to_string(),
                why: "there is no such table".to_owned(),
            })?;
            read.push((insert, copied::read(table, &row.line)?));
        }
        let requests = read.iter().map(|(insert, params)| transaction.execute_raw(*insert, params));
        for done in pipeline::run(requests).await {
            done.map_err(Error::from)?;
        }
        if ended {
            return Ok(());
        }
    }
}
