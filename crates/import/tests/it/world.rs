//! The installation that is taken over, and those who take it over.

use assisted_blob::Blob;
use assisted_import::{Report, Target, import};
use assisted_seal::Keyring;
use assisted_store::copy::{CopyRow, dump};
use assisted_store::{Foreign, Options, Store};
use assisted_testkit::{Postgres, memory_dir};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// An installation with its database.
pub struct Theirs {
    pub address: String,
}

impl Theirs {
    /// One with the hundred clusters.
    pub async fn filled() -> Self {
        let theirs = Self::empty().await;
        theirs.execute(include_str!("../data/fill.sql")).await;
        theirs
    }

    pub async fn empty() -> Self {
        let theirs = Self { address: Postgres::start().unwrap().create_database().unwrap() };
        theirs.execute(include_str!("../data/schema.sql")).await;
        theirs
    }

    pub async fn execute(&self, sql: &str) {
        let (client, connection) = tokio_postgres::connect(&self.address, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    }
}

/// A new service.
pub struct Ours {
    pub dir: TempDir,
    pub address: String,
    pub store: Store,
    pub files: Blob,
    keys: Keyring,
}

impl Ours {
    pub async fn on_sqlite() -> Self {
        let dir = memory_dir().unwrap();
        let address = format!("sqlite:{}", dir.path().join("assisted.db").display());
        Self::open(dir, address).await
    }

    pub async fn on_postgres() -> Self {
        let address = Postgres::start().unwrap().create_database().unwrap();
        Self::open(memory_dir().unwrap(), address).await
    }

    async fn open(dir: TempDir, address: String) -> Self {
        let keys = Keyring::generate().unwrap();
        let store = Store::open(&address).await.unwrap();
        store.unlock(&keys).await.unwrap();
        let files = Blob::open(dir.path().join("files")).await.unwrap().sealed(keys.clone());
        Self { dir, address, store, files, keys }
    }

    /// The same with files elsewhere.
    pub fn with_files(self, files: Blob) -> Self {
        Self { files: files.sealed(self.keys.clone()), ..self }
    }

    pub async fn take(&self, theirs: &Theirs, files: Option<&Blob>) -> Report {
        let from = Foreign::open(&theirs.address, &Options::default()).await.unwrap();
        import(&from, files, Target { store: &self.store, files: &self.files }).await.unwrap()
    }

    /// Every row.
    pub async fn rows(&self) -> Vec<(String, String)> {
        let (sender, mut received) = tokio::sync::mpsc::channel::<CopyRow>(16);
        let collect = async {
            let mut rows = Vec::new();
            while let Some(row) = received.recv().await {
                rows.push((row.table.to_string(), row.line));
            }
            rows.sort();
            rows
        };
        let options = Options::default();
        let (dumped, rows) = tokio::join!(dump(&self.address, &options, sender), collect);
        dumped.unwrap();
        rows
    }
}

/// An id of the filler.
pub fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(kind: u8, n: u32) -> T {
    format!("{kind}0000000-0000-4000-8000-{n:012}").parse().unwrap()
}
