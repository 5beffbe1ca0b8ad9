//! A database as a whole: from each engine to each, from each released schema.

use assisted_store::copy::{Copied, CopyError, CopyRow, dump, load, newest_schema};
use assisted_store::{Batch, EventQuery, Options};
use tokio::sync::mpsc;

use crate::schema::{holds, migrate_to};
use crate::support::{Database, at, cluster};

/// All rows of a database, and its schema.
async fn rows(database: &Database) -> Result<(i64, Vec<CopyRow>), CopyError> {
    let (sender, mut received) = mpsc::channel(1);
    let options = Options::default();
    let collect = async {
        let mut rows = Vec::new();
        while let Some(row) = received.recv().await {
            rows.push(row);
        }
        rows
    };
    let (schema, mut rows) = tokio::join!(dump(&database.address, &options, sender), collect);
    rows.sort_by(|one, other| (&one.table, &one.line).cmp(&(&other.table, &other.line)));
    Ok((schema?, rows))
}

async fn put(database: &Database, schema: i64, copied: Vec<Copied>) -> Result<(), CopyError> {
    let (sender, received) = mpsc::channel(1);
    let send = async move {
        for one in copied {
            // Nobody takes them when one was refused.
            let _ = sender.send(one).await;
        }
    };
    let options = Options::default();
    tokio::join!(load(&database.address, &options, schema, received), send).0
}

fn whole(rows: &[CopyRow]) -> Vec<Copied> {
    rows.iter().cloned().map(Copied::Row).chain([Copied::End]).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_schema_goes_from_each_engine_to_each() {
    for version in [1, 4, 7] {
        for from in [Database::sqlite(), Database::postgres()] {
            migrate_to(&from, version).await;
            let (schema, old) = rows(&from).await.unwrap();
            assert_eq!((schema, old.is_empty()), (version as i64, false));
            for to in [Database::sqlite(), Database::postgres()] {
                put(&to, schema, whole(&old)).await.unwrap();
                let (schema, new) = rows(&to).await.unwrap();
                assert_eq!(schema, newest_schema());
                for table in ["hosts", "reports", "events", "check_ins"] {
                    let of = |rows: &[CopyRow]| {
                        rows.iter().filter(|row| &*row.table == table).cloned().collect::<Vec<_>>()
                    };
                    assert_eq!(of(&new), of(&old), "{table}");
                    assert!(!of(&new).is_empty(), "{table}");
                }
                let store = holds(&to).await;
                // Numbers go on where they were.
                let mut batch = Batch::new();
                let record = cluster("new", 1);
                let event = assisted_wire::event::Event {
                    message: "Later".to_owned(),
                    ..store.events(&EventQuery::default()).await.unwrap().events[0].clone()
                };
                batch.insert_cluster(&record).insert_client_event(&event);
                store.write(batch).await.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_end_too_early_or_are_none_make_no_database() {
    let from = Database::sqlite();
    migrate_to(&from, 7).await;
    let (schema, old) = rows(&from).await.unwrap();
    for to in [Database::sqlite(), Database::postgres()] {
        let mut cut = whole(&old);
        cut.pop();
        assert!(matches!(put(&to, schema, cut).await, Err(CopyError::Unfinished)));
        let mut bad = whole(&old);
        bad.insert(3, Copied::Row(CopyRow { table: "clusters".into(), line: "[1]".to_owned() }));
        assert!(matches!(put(&to, schema, bad).await, Err(CopyError::Row { .. })));
        let mut strange = whole(&old);
        strange.insert(0, Copied::Row(CopyRow { table: "passwd".into(), line: "[]".to_owned() }));
        assert!(matches!(put(&to, schema, strange).await, Err(CopyError::Row { .. })));
        // A row that is there already.
        let twice = whole(&[old.clone(), old.clone()].concat());
        assert!(matches!(put(&to, schema, twice).await, Err(CopyError::Open(_))));
        assert!(matches!(
            put(&to, schema + 100, whole(&old)).await,
            Err(CopyError::Open(_) | CopyError::Schema(_))
        ));
        assert!(matches!(rows(&to).await, Err(CopyError::Missing(_) | CopyError::Empty)));
        put(&to, schema, whole(&old)).await.unwrap();
        let again = put(&to, schema, whole(&old)).await;
        assert!(matches!(again, Err(CopyError::Occupied(_))), "{again:?}");
        holds(&to).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_rows_are_of_one_moment() {
    for from in [Database::sqlite(), Database::postgres()] {
        let store = from.open().await;
        for n in 0..200 {
            let mut batch = Batch::new();
            batch.insert_cluster(&cluster("one", n));
            store.write(batch).await.unwrap();
        }
        let (writing, options) = (store.clone(), Options::default());
        let (sender, mut received) = mpsc::channel::<CopyRow>(1);
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        let collect = async {
            let mut begun = false;
            while let Some(row) = received.recv().await {
                if !begun {
                    begun = true;
                    // Each writes into a table that is read already, and into one that is not.
                    for n in 0..20 {
                        let mut batch = Batch::new();
                        let record = cluster("two", n);
                        let key = record.cluster.id;
                        batch.insert_cluster(&record).mark_due(assisted_store::Due::Cluster(key), at(n));
                        writing.write(batch).await.unwrap();
                    }
                }
                *counts.entry(row.table.to_string()).or_default() += 1;
            }
        };
        tokio::join!(dump(&from.address, &options, sender), collect).0.unwrap();
        assert_eq!(counts.get("clusters"), Some(&200));
        assert_eq!(counts.get("due"), None);
        drop(store);
    }
}
