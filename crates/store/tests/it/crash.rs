//! The death of a writer: what it acknowledged is there, what it began is there whole or not at all, and no work is stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use assisted_core::model::report::ReportKind;
use assisted_store::{Batch, ClusterFilter, Deleted, Due, EventQuery, Store};
use assisted_testkit::built;
use jiff::{SignedDuration, Timestamp};
use rand::Rng;

use crate::support::{Database, on_both};

on_both! { what_is_acknowledged_survives_a_kill, }

const WORKERS: usize = 4;
const STEPS: u64 = 250;

/// Runs a writer, kills it after some acknowledgements, and gives the last step that each worker's cluster reached.
fn write_until_killed(database: &Database, acknowledged: usize) -> BTreeMap<String, u64> {
    let mut child = Command::new(built("examples/writer").unwrap())
        .args([&database.address, &WORKERS.to_string(), &STEPS.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reached = BTreeMap::new();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // What was written before the kill still stands in the pipe after it.
    for (n, line) in lines.enumerate() {
        let line = line.unwrap();
        let parts: Vec<_> = line.split(' ').collect();
        // The last line may be torn.
        let [_, step, cluster] = parts[..] else { continue };
        if cluster.len() == 36 {
            reached.insert(cluster.to_owned(), step.parse().unwrap());
        }
        if n + 1 == acknowledged {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    reached
}

async fn what_is_acknowledged_survives_a_kill(database: Database) {
    let random = || rand::rng().random_range(1..WORKERS * usize::try_from(STEPS).unwrap());
    // The first point is in the middle of the first steps; the last run ends by itself.
    for point in [1, random(), random(), random(), usize::MAX] {
        let reached = write_until_killed(&database, point);
        assert!(!reached.is_empty());
        if point == usize::MAX {
            assert!(reached.len() == WORKERS && reached.values().all(|step| *step == STEPS), "{reached:?}");
        }
        let store = database.open().await;
        check_after_crash(&store, &reached).await;
        nothing_is_stuck(&store).await;
    }
}

/// A write to the log that a loss of power has torn.
#[tokio::test]
async fn what_is_torn_at_the_end_of_the_log_harms_nothing_before_it() {
    let database = Database::sqlite();
    let reached = write_until_killed(&database, WORKERS * 20);
    let [_, log] = database.files();
    let mut log = OpenOptions::new().append(true).open(log).unwrap();
    log.write_all(&rand::random::<[u8; 10_000]>()).unwrap();
    let store = database.open().await;
    check_after_crash(&store, &reached).await;
    nothing_is_stuck(&store).await;
}

async fn check_after_crash(store: &Store, acknowledged: &BTreeMap<String, u64>) {
    let mut found = BTreeSet::new();
    for stored in store.clusters(&ClusterFilter::default()).await.unwrap() {
        let id = stored.record.cluster.id;
        let step: u64 = stored.record.cluster.status_info.parse().unwrap();
        if let Some(last) = acknowledged.get(&id.to_string()) {
            assert!((*last..=last + 1).contains(&step), "acknowledged {last}, found {step}");
            found.insert(id.to_string());
        }

        let events =
            store.events(&EventQuery { cluster_id: Some(id), ..EventQuery::default() }).await.unwrap().events;
        let messages: Vec<_> = events.iter().map(|event| event.message.clone()).collect();
        assert_eq!(messages, (0..=step).map(|n| n.to_string()).collect::<Vec<_>>());
        let loaded = store.load_cluster(id, Deleted::Hidden).await.unwrap().unwrap();
        assert_eq!(loaded.hosts.len() as u64, step / 5 + 1);
        let reports: Vec<_> =
            loaded.hosts.iter().filter_map(|host| host.reports.get(&ReportKind::Inventory)).collect();
        assert_eq!(reports.len(), 1);
        assert_eq!(*reports[0].text, step.to_string());
    }
    assert_eq!(found, acknowledged.keys().cloned().collect());
}

/// Every cluster's work can be taken once all leases have run out, and given back.
async fn nothing_is_stuck(store: &Store) {
    let later = Timestamp::now() + SignedDuration::from_hours(1);
    let taken = store.take_due("judge", later, 1000, SignedDuration::from_secs(1)).await.unwrap();
    let due: BTreeSet<_> = taken.iter().map(|taken| taken.due).collect();
    let clusters = store.clusters(&ClusterFilter::default()).await.unwrap();
    assert_eq!(due, clusters.iter().map(|stored| Due::Cluster(stored.record.cluster.id)).collect());
    let mut batch = Batch::new();
    for taken in &taken {
        batch.finish_due(taken, Some(Timestamp::now()));
    }
    store.write(batch).await.unwrap();
}
