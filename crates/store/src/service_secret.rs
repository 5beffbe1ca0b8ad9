//! Secrets of the service itself, which all replicas share. Each is sealed for its row.

use assisted_seal::text;
use assisted_wire::secret::Secret;

use crate::batch::Batch;
use crate::error::{Error, WriteError};
use crate::statement::Statement;
use crate::store::Store;

const READ: &str = "select sealed from service_secrets where name = $1";
const INSERT: &str = "insert into service_secrets (name, sealed) values ($1, $2) on conflict do nothing";
const OF_OTHER_KEYS: &str = "select name, sealed from service_secrets where sealed not like $1";
const RESEAL: &str = "update service_secrets set sealed = $3 where name = $1 and sealed = $2";

fn place(name: &str) -> String {
    format!("service_secrets/{name}")
}

impl Store {
    /// The secret of a name; `None`: there is none.
    ///
    /// # Errors
    /// When the database fails, no keys were given, or what is there can't be opened.
    pub async fn service_secret(&self, name: &'static str) -> Result<Option<Secret>, Error> {
        let keys = self.keys().ok_or(Error::Locked)?;
        let rows = self.read(Statement::new(READ, vec![name.into()])).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let opened = text::open(keys, &place(name), row.text(0)?).map_err(Error::Seal)?;
        Ok(Some(opened.into()))
    }

    /// Keeps a secret, unless there is one of its name: of several that are kept at once, all who read get the same.
    ///
    /// # Errors
    /// When the database fails, or no keys were given.
    pub async fn keep_service_secret(&self, name: &'static str, secret: &Secret) -> Result<(), WriteError> {
        let keys = self.keys().ok_or(Error::Locked)?;
        let sealed = text::seal(keys, &place(name), secret.expose()).map_err(Error::Seal)?;
        self.write_one(Statement::new(INSERT, vec![name.into(), sealed.into()])).await?;
        Ok(())
    }

    /// Seals those that are not sealed with the newest key; gives their number.
    pub(crate) async fn reseal_service_secrets(&self) -> Result<u64, WriteError> {
        let keys = self.keys().ok_or(Error::Locked)?;
        let newest = format!("{}%", text::prefix(keys.primary().id()));
        let rows = self.read(Statement::new(OF_OTHER_KEYS, vec![newest.into()])).await?;
        let mut batch = Batch::new();
        for row in &rows {
            let (name, old) = (row.text(0)?, row.text(1)?);
            let opened = Secret::from(text::open(keys, &place(name), old).map_err(Error::Seal)?);
            let sealed = text::seal(keys, &place(name), opened.expose()).map_err(Error::Seal)?;
            batch.push(Statement::new(
                RESEAL,
                vec![name.to_owned().into(), old.to_owned().into(), sealed.into()],
            ));
        }
        self.write(batch).await?;
        Ok(rows.len() as u64)
    }
}
