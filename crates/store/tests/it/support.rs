//! Databases and records for the tests.

use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::host::{HostKey, HostRecord};
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_store::Store;
use assisted_testkit::{Postgres, memory_dir};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// An empty database; gone when it is dropped.
pub struct Database {
    pub address: String,
    _dir: Option<TempDir>,
}

impl Database {
    pub fn sqlite() -> Self {
        let dir = memory_dir().unwrap();
        let address = format!("sqlite:{}", dir.path().join("new/assisted.db").display());
        Self { address, _dir: Some(dir) }
    }

    pub fn postgres() -> Self {
        Self { address: Postgres::start().unwrap().create_database().unwrap(), _dir: None }
    }

    /// The files of an SQLite database: itself, and its log.
    pub fn files(&self) -> [String; 2] {
        let path = self.address.strip_prefix("sqlite:").unwrap();
        [path.to_owned(), format!("{path}-wal")]
    }

    /// Runs SQL in PostgreSQL's dialect past the store.
    pub async fn execute(&self, sql: &str) {
        match self.address.strip_prefix("sqlite:") {
            Some(path) => {
                std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
                let sql = sql
                    .replace("bigserial primary key", "integer primary key autoincrement")
                    .replace("uuid '", "x'")
                    .replace("bytea '\\x", "x'");
                rusqlite::Connection::open(path).unwrap().execute_batch(&sql).unwrap();
            }
            None => {
                let (client, connection) = tokio_postgres::connect(&self.address, NoTls).await.unwrap();
                let connection = tokio::spawn(connection);
                client.batch_execute(sql).await.unwrap();
                drop(client);
                connection.await.unwrap().unwrap();
            }
        }
    }

    /// The texts of a query's only column, of PostgreSQL.
    pub async fn query(&self, sql: &str) -> Vec<String> {
        let (client, connection) = tokio_postgres::connect(&self.address, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let rows = client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        drop(client);
        connection.await.unwrap().unwrap();
        rows
    }

    pub async fn open(&self) -> Store {
        Store::open(&self.address).await.unwrap()
    }
}

/// Defines each test twice: in `sqlite` and in `postgres`.
macro_rules! on_both {
    ($($name:ident,)+) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(crate::support::Database::sqlite()).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(crate::support::Database::postgres()).await;
                }
            )+
        }
    };
}
pub(crate) use on_both;

/// A moment in seconds since 1970, with nanoseconds that must not be lost.
pub fn at(second: i64) -> Timestamp {
    Timestamp::new(second, 123_456_789).unwrap()
}

pub fn cluster(name: &str, created: i64) -> ClusterRecord {
    let id = ClusterId::random();
    serde_json::from_value(json!({
        "cluster": {
            "kind": "Cluster", "id": id, "href": format!("/api/assisted-install/v2/clusters/{id}"), "name": name,
            "status": "insufficient", "status_info": "", "image_info": {},
            "created_at": at(created).to_string(), "updated_at": at(created).to_string(),
        },
        "pull_secret": "{\"auths\":{}}",
    }))
    .unwrap()
}

pub fn infra_env(cluster: Option<ClusterId>, created: i64) -> InfraEnvRecord {
    let id = InfraEnvId::random();
    serde_json::from_value(json!({
        "infra_env": {
            "kind": "InfraEnv", "id": id, "href": format!("/api/assisted-install/v2/infra-envs/{id}"), "name": "rack",
            "type": "full-iso", "cluster_id": cluster,
            "created_at": at(created).to_string(), "updated_at": at(created).to_string(),
        },
    }))
    .unwrap()
}

pub fn host(infra_env: InfraEnvId, cluster: Option<ClusterId>, created: i64) -> HostRecord {
    let id = HostId::random();
    serde_json::from_value(json!({
        "host": {
            "kind": "Host", "id": id, "href": format!("/api/assisted-install/v2/infra-envs/{infra_env}/hosts/{id}"),
            "infra_env_id": infra_env, "cluster_id": cluster, "status": "discovering", "status_info": "",
            "role": "auto-assign", "created_at": at(created).to_string(), "updated_at": at(created).to_string(),
            "checked_in_at": "1970-01-01T00:00:07.250Z",
        },
    }))
    .unwrap()
}

pub fn key(record: &HostRecord) -> HostKey {
    HostKey { infra_env_id: record.host.infra_env_id.unwrap(), host_id: record.host.id }
}
