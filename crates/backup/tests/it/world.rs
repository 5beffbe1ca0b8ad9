//! A place with a database, files and keys.

use std::fs::File;
use std::path::{Path, PathBuf};

use assisted_backup::{DataFile, Destination, Manifest, RestoreError, Source, restore, write};
use assisted_blob::{Blob, Key, S3};
use assisted_core::model::cluster::ClusterRecord;
use assisted_seal::{KeyFile, Keyring};
use assisted_store::{Batch, Due, Options, Store};
use assisted_testkit::{AwsServer, Postgres, memory_dir};
use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;

/// What stands in a pull secret.
pub const SECRET: &str = "hunter2-pull";
/// A file that is handed on in pieces.
pub const LONG: usize = 9 << 20;

pub struct World {
    pub dir: TempDir,
    pub database: String,
    /// Where the files are, unless in the folder.
    bucket: Option<S3>,
}

impl World {
    /// The same with files in a bucket of its own.
    pub fn in_a_bucket(self) -> Self {
        let bucket = AwsServer::bucket().unwrap();
        let endpoint = bucket.endpoint.parse().unwrap();
        let bucket = S3::at(endpoint, bucket.name, bucket.access_key, bucket.secret_key);
        Self { bucket: Some(bucket), ..self }
    }

    pub fn sqlite() -> Self {
        let dir = memory_dir().unwrap();
        let database = format!("sqlite:{}", dir.path().join("assisted.db").display());
        Self { dir, database, bucket: None }
    }

    pub fn postgres() -> Self {
        let database = Postgres::start().unwrap().create_database().unwrap();
        Self { dir: memory_dir().unwrap(), database, bucket: None }
    }

    pub fn key_path(&self) -> PathBuf {
        self.dir.path().join("seal-keys")
    }

    pub async fn keys(&self) -> Keyring {
        let file = KeyFile::new(self.key_path(), None);
        if !file.exists() {
            file.make().await.unwrap();
        }
        Keyring::read(&file).await.unwrap()
    }

    pub async fn store(&self) -> Store {
        let store = Store::open(&self.database).await.unwrap();
        store.unlock(&self.keys().await).await.unwrap();
        store
    }

    /// The files, as they are kept.
    pub async fn files(&self) -> Blob {
        match &self.bucket {
            Some(bucket) => Blob::bucket(bucket.clone()).await.unwrap(),
            None => Blob::open(self.dir.path().join("files")).await.unwrap(),
        }
    }

    /// A cluster, files and work that somebody has taken.
    pub async fn fill(&self) -> ClusterId {
        let store = self.store().await;
        let record = cluster();
        let id = record.cluster.id;
        let mut batch = Batch::new();
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        batch.insert_cluster(&record).mark_due(Due::Cluster(id), now);
        store.write(batch).await.unwrap();
        let lease = jiff::SignedDuration::from_hours(10_000_000);
        assert_eq!(store.take_due("gone", now, 10, lease).await.unwrap().len(), 1);
        let files = self.files().await.sealed(self.keys().await);
        files.put(&key(&format!("{id}/short")), SECRET).await.unwrap();
        files.put(&key(&format!("{id}/empty")), "").await.unwrap();
        files.put(&key(&format!("{id}/long/{}", "x".repeat(200))), long()).await.unwrap();
        std::fs::write(self.dir.path().join("token-key.pem"), "sealed token key").unwrap();
        id
    }

    pub fn archive(&self) -> PathBuf {
        self.dir.path().join("backup.tar.gz")
    }

    pub async fn write(&self, with_keys: bool) -> Manifest {
        let mut data =
            vec![(DataFile::TokenKey, std::fs::read(self.dir.path().join("token-key.pem")).unwrap())];
        if with_keys {
            data.push((DataFile::SealKeys, std::fs::read(self.key_path()).unwrap()));
        }
        let (options, files) = (Options::default(), self.files().await);
        let source = Source { database: &self.database, options: &options, files: &files, data };
        write(source, File::create(self.archive()).unwrap()).await.unwrap().0
    }

    pub async fn restore(&self, archive: &Path) -> Result<Manifest, RestoreError> {
        let (options, files) = (Options::default(), self.files().await);
        let data = vec![
            (DataFile::TokenKey, self.dir.path().join("token-key.pem")),
            (DataFile::SealKeys, self.key_path()),
        ];
        restore(archive, Destination { database: &self.database, options: &options, files: &files, data })
            .await
    }

    /// Whether nothing was put here.
    pub async fn is_empty(&self) -> bool {
        let (rows, _none) = tokio::sync::mpsc::channel(1);
        let dumped = assisted_store::copy::dump(&self.database, &Options::default(), rows).await;
        dumped.is_err()
            && self.files().await.all().await.unwrap().is_empty()
            && !self.dir.path().join("token-key.pem").exists()
            && !self.key_path().exists()
    }
}

pub fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Bytes that can't be compressed.
pub fn long() -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(LONG).collect()
}

pub fn cluster() -> ClusterRecord {
    let id = ClusterId::random();
    serde_json::from_value(json!({
        "cluster": {
            "kind": "Cluster", "id": id, "href": format!("/api/assisted-install/v2/clusters/{id}"), "name": "moved",
            "status": "insufficient", "status_info": "", "image_info": {},
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        },
        "pull_secret": SECRET,
    }))
    .unwrap()
}
