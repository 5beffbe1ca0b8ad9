//! A PostgreSQL that dies, and the standby that takes its place.

use std::time::{Duration, Instant};

use assisted_store::{Batch, Change, ClusterFilter, Store, Subject, WriteError};
use assisted_testkit::{Durability, Postgres};

use crate::support::cluster;

/// Tries until the database does it, as a caller does who is told that the database is away.
async fn once_it_is_back<T>(what: &str, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    let limit = Instant::now() + Duration::from_secs(60);
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) => assert!(Instant::now() < limit, "no {what}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn names(store: &Store) -> Result<Vec<String>, String> {
    let found = store.clusters(&ClusterFilter::default()).await;
    let found = found.map_err(|error| {
        assert!(error.is_away(), "{error}");
        error.to_string()
    })?;
    let mut names: Vec<_> = found.iter().map(|stored| stored.record.cluster.name.clone()).collect();
    names.sort();
    Ok(names)
}

async fn insert(store: &Store, name: &str) -> Result<(), String> {
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster(name, 1));
    let Err(error) = store.write(batch).await else { return Ok(()) };
    assert!(matches!(&error, WriteError::Failed(error) if error.is_away()), "{error}");
    Err(error.to_string())
}

/// Waits until a standby has the first cluster.
async fn until_copied(standby: &Postgres) {
    let copy = Postgres::address_of_all(&[standby], "postgres");
    once_it_is_back("copy", async || {
        let (client, connection) = tokio_postgres::connect(&copy, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let rows = client.query("select 1 from clusters", &[]).await;
        connection.abort();
        match rows {
            Ok(rows) if rows.len() == 1 => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_standby_takes_over() {
    let primary = Postgres::launch(Durability::Fast).unwrap();
    let standby = primary.standby().unwrap();
    // The standby is named first: it is passed over as long as it takes no writes.
    let address = Postgres::address_of_all(&[&standby, &primary], "postgres");
    let store = Store::open(&address).await.unwrap();
    insert(&store, "before").await.unwrap();
    until_copied(&standby).await;

    drop(primary);
    let away = insert(&store, "lost").await;
    assert!(away.is_err(), "nobody takes writes");
    standby.promote().unwrap();
    once_it_is_back("write", async || insert(&store, "after").await).await;
    assert_eq!(once_it_is_back("read", async || names(&store).await).await, ["after", "before"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_dead_at_the_start_is_passed_over() {
    let (dead, alive) =
        (Postgres::launch(Durability::Fast).unwrap(), Postgres::launch(Durability::Fast).unwrap());
    let address = Postgres::address_of_all(&[&dead, &alive], "postgres");
    drop(dead);
    let store = Store::open(&address).await.unwrap();
    insert(&store, "one").await.unwrap();
    assert_eq!(names(&store).await.unwrap(), ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_and_takes_no_writes_any_more_is_left() {
    let old = Postgres::launch(Durability::Fast).unwrap();
    let new = old.standby().unwrap();
    let address = Postgres::address_of_all(&[&old, &new], "postgres");
    let (store, other) = (Store::open(&address).await.unwrap(), Store::open(&address).await.unwrap());
    insert(&store, "before").await.unwrap();
    until_copied(&new).await;

    // No connection is lost by this.
    old.execute("alter system set default_transaction_read_only = on").unwrap();
    old.execute("select pg_reload_conf()").unwrap();
    once_it_is_back("refusal", async || match insert(&store, "lost, perhaps").await {
        Ok(()) => Err("it is written".to_owned()),
        Err(_) => Ok(()),
    })
    .await;
    let mut changes = other.changes();
    new.promote().unwrap();
    once_it_is_back("write", async || insert(&store, "after").await).await;
    once_it_is_back("write of the other", async || insert(&other, "of the other").await).await;
    for store in [&store, &other] {
        let found = names(store).await.unwrap();
        for name in ["before", "after", "of the other"] {
            assert!(found.iter().any(|found| found == name), "no {name} in {found:?}");
        }
    }

    // The other listens where news are told now: it says that it may have missed some, and hears of what comes after.
    let heard = async {
        while changes.recv().await.unwrap() != Change::Everything {}
        insert(&store, "news").await.unwrap();
        while !matches!(changes.recv().await.unwrap(), Change::Elsewhere(Subject::Cluster(_))) {}
    };
    tokio::time::timeout(Duration::from_secs(60), heard).await.unwrap();
}
