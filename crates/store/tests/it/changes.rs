//! News of writes, in the process and between replicas.

use std::time::Duration;

use assisted_store::{Batch, Change, Due, Subject, Version, WriteError};
use tokio::sync::broadcast::Receiver;

use crate::support::{self, Database, at, on_both};

on_both! { own_writes_are_told, failed_writes_are_not_told, }

async fn next(changes: &mut Receiver<Change>) -> Change {
    tokio::time::timeout(Duration::from_secs(30), changes.recv()).await.unwrap().unwrap()
}

async fn own_writes_are_told(database: Database) {
    let store = database.open().await;
    let mut changes = store.changes();
    let cluster = support::cluster("c", 1);
    let infra_env = support::infra_env(None, 1);
    let host = support::host(infra_env.infra_env.id, None, 1);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_infra_env(&infra_env).insert_host(&host);
    store.write(batch).await.unwrap();
    for subject in [
        Subject::Cluster(cluster.cluster.id),
        Subject::InfraEnv(infra_env.infra_env.id),
        Subject::Host(support::key(&host)),
    ] {
        assert_eq!(next(&mut changes).await, Change::Here(subject));
    }
}

async fn failed_writes_are_not_told(database: Database) {
    let store = database.open().await;
    let mut changes = store.changes();
    let cluster = support::cluster("c", 1);
    let mut batch = Batch::new();
    batch.update_cluster(&cluster, Version::FIRST);
    store.write(batch).await.unwrap_err();
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster);
    store.write(batch).await.unwrap();
    assert_eq!(next(&mut changes).await, Change::Here(Subject::Cluster(cluster.cluster.id)));
    assert!(changes.try_recv().is_err());
}

#[tokio::test]
async fn replicas_hear_of_each_other() {
    let database = Database::postgres();
    let (here, there) = (database.open().await, database.open().await);
    let (mut changes, mut marks) = (there.changes(), there.due_marks());
    marks.mark_unchanged();
    let cluster = support::cluster("c", 1);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).mark_due(Due::Cluster(cluster.cluster.id), at(1));
    here.write(batch).await.unwrap();

    assert_eq!(next(&mut changes).await, Change::Elsewhere(Subject::Cluster(cluster.cluster.id)));
    tokio::time::timeout(Duration::from_secs(30), marks.changed()).await.unwrap().unwrap();
    assert!(here.changes().try_recv().is_err(), "own news must not come back");
}

/// A replica that lost its listening connection may have missed news, and says so.
#[tokio::test]
async fn missed_news_are_told() {
    let database = Database::postgres();
    let store = database.open().await;
    let mut changes = store.changes();
    let (client, connection) =
        tokio_postgres::connect(&database.address, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let ended = client
        .query(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where datname = current_database() and pid <> pg_backend_pid()",
            &[],
        )
        .await
        .unwrap();
    assert!(!ended.is_empty());
    assert_eq!(next(&mut changes).await, Change::Everything);
    // The pool's connections were cut as well: it makes new ones, as soon as it has noticed.
    let cluster = support::cluster("c", 1);
    let write = async || {
        let mut batch = Batch::new();
        batch.insert_cluster(&cluster);
        store.write(batch).await
    };
    let written = async {
        while let Err(error) = write().await {
            assert!(matches!(error, WriteError::Failed(_)), "{error:?}");
        }
    };
    tokio::time::timeout(Duration::from_secs(30), written).await.unwrap();
    store.ping().await.unwrap();
    assert_eq!(next(&mut changes).await, Change::Here(Subject::Cluster(cluster.cluster.id)));
    drop(client);
    connection.await.unwrap().unwrap();
}
