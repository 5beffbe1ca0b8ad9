//! News of writes, in the process and between replicas.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use assisted_store::{Batch, Change, Due, Observer, Subject, Version, WriteError};
use assisted_wire::time::DateTime;
use tokio::sync::broadcast::Receiver;

use crate::support::{self, Database, at, on_both};

on_both! { own_writes_are_told, failed_writes_are_not_told, observers_hear_first, }

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

/// Records what an observer is called with: whether it was of this process and committed, and what it touched.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(Option<bool>, Vec<Subject>)>>);

impl Recorder {
    fn take(&self) -> Vec<(Option<bool>, Vec<Subject>)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Recorder {
    fn ended(&self, subjects: &[Subject], committed: bool) {
        self.0.lock().unwrap().push((Some(committed), subjects.to_vec()));
    }

    fn elsewhere(&self, subjects: &[Subject]) {
        self.0.lock().unwrap().push((None, subjects.to_vec()));
    }

    fn missed(&self) {}
}

/// Whoever caches what the database holds hears of a batch before its writer does, of one that failed as well.
async fn observers_hear_first(database: Database) {
    let store = database.open().await;
    let recorder = Arc::new(Recorder::default());
    let observer: Arc<dyn Observer> = Arc::<Recorder>::clone(&recorder);
    store.observe(&observer);
    let cluster = support::cluster("c", 1);
    let id = cluster.cluster.id;
    let mut host = support::host(support::infra_env(None, 1).infra_env.id, Some(id), 1);
    let key = support::key(&host);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_host(&host);
    store.write(batch).await.unwrap();
    let added = vec![Subject::Cluster(id), Subject::Host(key), Subject::Joined(key, id)];
    assert_eq!(recorder.take(), [(Some(true), added)]);

    let mut batch = Batch::new();
    batch.update_cluster(&cluster, Version::FIRST.next());
    store.write(batch).await.unwrap_err();
    assert_eq!(recorder.take(), [(Some(false), vec![Subject::Cluster(id)])]);

    host.host.deleted_at = Some(DateTime(at(2)));
    let mut batch = Batch::new();
    batch.update_host(&host, Version::FIRST).touch_members(id);
    store.write(batch).await.unwrap();
    let gone = vec![Subject::Host(key), Subject::Removed(key), Subject::Left(key, id), Subject::Members(id)];
    assert_eq!(recorder.take(), [(Some(true), gone)]);

    drop((recorder, observer));
    let mut batch = Batch::new();
    batch.update_cluster(&cluster, Version::FIRST);
    store.write(batch).await.unwrap();
}

#[tokio::test]
async fn replicas_hear_of_each_other() {
    let database = Database::postgres();
    let (here, there) = (database.open().await, database.open().await);
    let (mut changes, mut marks) = (there.changes(), there.due_marks());
    marks.mark_unchanged();
    let recorder = Arc::new(Recorder::default());
    let observer: Arc<dyn Observer> = Arc::<Recorder>::clone(&recorder);
    there.observe(&observer);
    let cluster = support::cluster("c", 1);
    let id = cluster.cluster.id;
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).touch_members(id).mark_due(Due::Cluster(id), at(1));
    here.write(batch).await.unwrap();

    assert_eq!(next(&mut changes).await, Change::Elsewhere(Subject::Cluster(cluster.cluster.id)));
    tokio::time::timeout(Duration::from_secs(30), marks.changed()).await.unwrap().unwrap();
    assert!(here.changes().try_recv().is_err(), "own news must not come back");
    assert_eq!(recorder.take(), [(None, vec![Subject::Cluster(id), Subject::Members(id)])]);
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
