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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_few_and_do_not_grow_old() {
    let database = Database::postgres();
    let (client, connection) = tokio_postgres::connect(&database.address, NoTls).await.unwrap();
    let watching = tokio::spawn(connection);
    let options = Options {
        connections: NonZeroUsize::new(3).unwrap(),
        idle: 1,
        lifetime: Duration::from_millis(300),
        replica: "pod-7".to_owned(),
        ..Options::default()
    };
    let store = Store::open_with(&database.address, &options).await.unwrap();
    let filter = ClusterFilter::default();
    let mut first = BTreeSet::new();
    for _ in 0..20 {
        let looks = (0..20).map(|_| store.clusters(&filter));
        futures::future::try_join_all(looks).await.unwrap();
        let found = connections(&client, "assisted pod-7").await;
        // One listens, and one writes check-ins.
        assert!((1..=3 + 2).contains(&found.len()), "{found:?}");
        first.extend(found);
    }
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        // Without use one stays; it is closed when it is old, and another is made when it is needed.
        let found = connections(&client, "assisted pod-7").await;
        let old = found.intersection(&first).count();
        if old <= 1 && found.len() <= 3 {
            break;
        }
        assert!(Instant::now() < limit, "{found:?} of {first:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    store.ping().await.unwrap();
    watching.abort();
}
