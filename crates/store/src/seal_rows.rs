//! Keys of secrets at rest: whether they are the right ones, and the sealing of rows that are not sealed with the newest.

use std::ops::ControlFlow;

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::host::HostRecord;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_seal::{Key, KeyId, Keyring, SealError, text};
use uuid::Uuid;

use crate::batch::Batch;
use crate::error::{Error, UnlockError, WriteError};
use crate::statement::Statement;
use crate::store::Store;
use crate::unsealed::{self, SecretFields, Unsealed};
use crate::value::{Row, Value};

/// Rows that are sealed in one transaction.
const PAGE: i64 = 200;

/// What a probe says.
const PROBE: &str = "assisted";

/// Tries to note a key while others note theirs.
const TRIES: usize = 100;

const PROBES: &str = "select id, probe, complete, number from seal_keys order by number";
const PUT_PROBE: &str =
    "insert into seal_keys (id, number, probe, complete) values ($1, $2, $3, 0) on conflict do nothing";
const COMPLETE: &str = "update seal_keys set complete = 1 where id = $1";
const FORGET_OTHERS: &str = "delete from seal_keys where id <> $1";

/// A table whose documents have secrets.
struct Table {
    first: &'static str,
    next: &'static str,
    update: &'static str,
    /// Columns of its key.
    width: usize,
    rewrite: fn(&Row, usize, Option<&Keyring>) -> Result<Rewritten, Error>,
}

/// What becomes of a row: the columns of its key, and its document, where it is to be written anew.
struct Rewritten {
    key: Vec<Uuid>,
    doc: Option<Unsealed>,
}

const TABLES: [Table; 3] = [
    Table {
        first: "select version, doc, id from clusters where doc not like $1 order by id limit $2",
        next: "select version, doc, id from clusters where doc not like $1 and id > $3 order by id limit $2",
        update: "update clusters set doc = $1 where version = $2 and id = $3",
        width: 1,
        rewrite: rewrite::<ClusterRecord>,
    },
    Table {
        first: "select version, doc, id from infra_envs where doc not like $1 order by id limit $2",
        next: "select version, doc, id from infra_envs where doc not like $1 and id > $3 order by id limit $2",
        update: "update infra_envs set doc = $1 where version = $2 and id = $3",
        width: 1,
        rewrite: rewrite::<InfraEnvRecord>,
    },
    Table {
        first: "select version, doc, infra_env_id, host_id from hosts where doc not like $1 \
                order by infra_env_id, host_id limit $2",
        next: "select version, doc, infra_env_id, host_id from hosts where doc not like $1 \
               and (infra_env_id, host_id) > ($3, $4) order by infra_env_id, host_id limit $2",
        update: "update hosts set doc = $1 where version = $2 and infra_env_id = $3 and host_id = $4",
        width: 2,
        rewrite: rewrite::<HostRecord>,
    },
];

fn rewrite<T: SecretFields>(row: &Row, width: usize, keys: Option<&Keyring>) -> Result<Rewritten, Error> {
    let key = (2..2 + width).map(|index| row.uuid(index)).collect::<Result<Vec<_>, _>>()?;
    let record: T = unsealed::read(row.text(1)?, &key, keys)?;
    // What has no secrets stays as it is.
    let doc = record.has_secrets().then(|| Unsealed::of(&record, &key)).transpose();
    Ok(Rewritten { key, doc: doc.map_err(|error| Error::Encode(std::sync::Arc::new(error)))? })
}

impl Store {
    /// The keys that secrets in the database are sealed with; none: nothing is sealed yet.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn seal_keys(&self) -> Result<Vec<KeyId>, Error> {
        Ok(self.probes().await?.into_iter().map(|probe| probe.id).collect())
    }

    async fn probes(&self) -> Result<Vec<Probe>, Error> {
        self.read(Statement::new(PROBES, Vec::new())).await?.iter().map(Probe::read).collect()
    }

    /// Takes the keys for what is sealed; to be called before anything is read that may be. What is written from then on is
    /// sealed with the one that seals.
    ///
    /// # Errors
    /// When a key is missing that something may be sealed with. Nothing is changed then.
    pub async fn unlock(&self, keys: &Keyring) -> Result<(), UnlockError> {
        for key in keys.sealing() {
            self.record_key(&key, keys).await?;
        }
        self.set_keys(keys.clone());
        Ok(())
    }

    /// Notes that something may be sealed with a key, if all that are noted already are given.
    async fn record_key(&self, key: &Key, keys: &Keyring) -> Result<(), UnlockError> {
        let id = key.id().to_string();
        let probe = text::seal_with(key, &place(&id), PROBE).map_err(Error::Seal)?;
        for _ in 0..TRIES {
            let probes = self.probes().await?;
            check(&probes, keys)?;
            if probes.iter().any(|probe| probe.id == key.id()) {
                return Ok(());
            }
            // Whoever notes another key meanwhile has this number: then that key is looked at first.
            let number = probes.last().map_or(1, |probe| probe.number.saturating_add(1));
            let params = vec![id.clone().into(), number.into(), probe.clone().into()];
            self.write_one(Statement::new(PUT_PROBE, params)).await?;
        }
        Err(UnlockError::Contended)
    }

    /// Seals what is not sealed with the newest key: documents of an older program, and those that an older key has sealed. It can
    /// be ended at any point and begun again. Secrets of the service itself are sealed as well. Gives the number of rows.
    ///
    /// # Errors
    /// When the database fails, or a document can't be opened.
    pub async fn seal_rows(&self) -> Result<u64, WriteError> {
        let Some(keys) = self.keys() else { return Err(Error::Locked.into()) };
        let keys = keys.clone();
        let mut sealed = self.reseal_service_secrets().await?;
        for table in &TABLES {
            let mut after = None;
            while let ControlFlow::Continue(key) = self.seal_page(table, &keys, after, &mut sealed).await? {
                after = Some(key);
            }
        }
        Ok(sealed)
    }

    async fn seal_page(
        &self,
        table: &Table,
        keys: &Keyring,
        after: Option<Vec<Uuid>>,
        sealed: &mut u64,
    ) -> Result<ControlFlow<(), Vec<Uuid>>, WriteError> {
        let mut params: Vec<Value> =
            vec![format!("{}%", text::prefix(keys.primary().id())).into(), PAGE.into()];
        let sql = if after.is_some() { table.next } else { table.first };
        params.extend(after.into_iter().flatten().map(Value::Uuid));
        let rows = self.read(Statement::new(sql, params)).await?;
        let mut batch = Batch::new();
        let mut last = None;
        for row in &rows {
            let Rewritten { key, doc } = (table.rewrite)(row, table.width, Some(keys))?;
            if let Some(doc) = doc {
                // Whoever writes the row meanwhile seals it, and gives it another version.
                let mut params = vec![Value::Unsealed(Box::new(doc)), row.int(0)?.into()];
                params.extend(key.iter().copied().map(Value::Uuid));
                batch.push(Statement::new(table.update, params));
                *sealed += 1;
            }
            last = Some(key);
        }
        self.write(batch).await?;
        Ok(last.map_or(ControlFlow::Break(()), ControlFlow::Continue))
    }

    /// Notes that everything is sealed with the newest key, in files too.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sealing_done(&self) -> Result<(), WriteError> {
        self.record_of_primary(COMPLETE).await
    }

    /// Notes that no other key than the newest is needed: nobody seals with another any more.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn forget_other_keys(&self) -> Result<(), WriteError> {
        self.record_of_primary(FORGET_OTHERS).await
    }

    async fn record_of_primary(&self, sql: &'static str) -> Result<(), WriteError> {
        let Some(keys) = self.keys() else { return Err(Error::Locked.into()) };
        let id = keys.primary().id().to_string();
        self.write_one(Statement::new(sql, vec![id.into()])).await?;
        Ok(())
    }

    /// Whether everything is sealed with the newest key.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn is_sealing_done(&self) -> Result<bool, Error> {
        let Some(keys) = self.keys() else { return Err(Error::Locked) };
        let primary = keys.primary().id();
        Ok(self.probes().await?.iter().any(|probe| probe.id == primary && probe.complete))
    }

    /// Has SQLite give up what deleted and rewritten rows have left behind in its file. PostgreSQL's server reuses that room at some
    /// time, and its files keep it until then.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn clear_remains(&self) -> Result<(), Error> {
        self.engine().clear_remains().await
    }
}

struct Probe {
    id: KeyId,
    sealed: String,
    complete: bool,
    number: i64,
}

impl Probe {
    fn read(row: &Row) -> Result<Self, Error> {
        let id = row.text(0)?.parse().map_err(Error::Seal)?;
        Ok(Self { id, sealed: row.text(1)?.to_owned(), complete: row.int(2)? != 0, number: row.int(3)? })
    }
}

fn place(id: &str) -> String {
    format!("seal_keys/{id}")
}

/// Whether the keys open what each of the keys of the database has sealed.
fn check(probes: &[Probe], keys: &Keyring) -> Result<(), UnlockError> {
    for probe in probes {
        match text::open(keys, &place(&probe.id.to_string()), &probe.sealed) {
            Ok(opened) if opened == PROBE => {}
            Err(SealError::UnknownKey(id)) => {
                let given = keys.ids().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                return Err(UnlockError::Missing { id, given });
            }
            Ok(_) => return Err(UnlockError::Database(Error::Seal(SealError::Broken))),
            Err(error) => return Err(UnlockError::Database(Error::Seal(error))),
        }
    }
    Ok(())
}
