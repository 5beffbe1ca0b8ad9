//! What an operator may choose about a database.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use assisted_store::{ClusterFilter, Options, Store};
use tokio_postgres::{Client, NoTls};

use crate::support::Database;

/// Processes of PostgreSQL behind the connections of a replica.
async fn connections(client: &Client, name: &str) -> BTreeSet<i32> {
    let query =
        "select pid from pg_stat_activity where datname = current_database() and application_name = $1";
    client.query(query, &[&name]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Looks at more clusters at once than there may be connections.
async fn use_all(store: &Store) {
    let filter = ClusterFilter::default();
    let looks = (0..20).map(|_| store.clusters(&filter));
    futures::future::try_join_all(looks).await.unwrap();
}

/// Waits until the connections are as they should be: the connections.
async fn until(client: &Client, holds: impl Fn(&BTreeSet<i32>) -> bool) -> BTreeSet<i32> {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        let found = connections(client, "assisted pod-7").await;
        if holds(&found) {
            return found;
        }
        assert!(Instant::now() < limit, "{found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// On one thread, for only there may time be moved.
#[tokio::test]
async fn connections_are_few_and_fewer_without_use() {
    let database = Database::postgres();
    let (client, connection) = tokio_postgres::connect(&database.address, NoTls).await.unwrap();
    let watching = tokio::spawn(connection);
    let options = Options {
        connections: NonZeroUsize::new(3).unwrap(),
        idle: 2,
        replica: "pod-7".to_owned(),
        ..Options::default()
    };
    let store = Store::open_with(&database.address, &options).await.unwrap();
    let mut open = BTreeSet::new();
    for _ in 0..20 {
        use_all(&store).await;
        open.extend(connections(&client, "assisted pod-7").await);
    }
    assert_eq!(open.len(), 3 + 1, "one listens, and nothing was closed between: {open:?}");

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(31)).await;
    tokio::time::resume();
    let kept = until(&client, |found| found.len() == 2 + 1).await;
    assert!(kept.is_subset(&open), "{kept:?} of {open:?}");
    store.ping().await.unwrap();
    assert_eq!(connections(&client, "assisted pod-7").await, kept, "what is kept is used");
    use_all(&store).await;
    assert_eq!(connections(&client, "assisted pod-7").await.len(), 3 + 1);
    watching.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_do_not_grow_old() {
    let database = Database::postgres();
    let (client, connection) = tokio_postgres::connect(&database.address, NoTls).await.unwrap();
    let watching = tokio::spawn(connection);
    let options = Options {
        connections: NonZeroUsize::new(3).unwrap(),
        lifetime: Duration::from_millis(300),
        replica: "pod-7".to_owned(),
        ..Options::default()
    };
    let store = Store::open_with(&database.address, &options).await.unwrap();
    use_all(&store).await;
    let first = connections(&client, "assisted pod-7").await;
    // The one that listens stays; others are made when they are needed.
    until(&client, |found| found.intersection(&first).count() <= 1).await;
    store.ping().await.unwrap();
    watching.abort();
}
