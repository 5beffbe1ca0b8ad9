//! Due work: marks, leases, failures, and two replicas that share it.

use std::collections::BTreeSet;

use assisted_core::model::action::Action;
use assisted_core::model::host::HostKey;
use assisted_store::{Batch, Deleted, Due, LeasedItem, MarkCount, Store, WorkKey, WorkState};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::{SignedDuration, Timestamp};

use crate::support::{self, Database, at, on_both};

on_both! {
    the_earliest_mark_wins,
    a_mark_under_a_lease_is_not_lost,
    a_decision_is_made_again_when_somebody_else_marked,
    a_row_made_anew_is_not_taken_for_the_old_one,
    a_lease_runs_out,
    leases_of_the_dead_are_freed,
    what_a_clock_that_was_ahead_wrote_is_mended,
    failures_are_kept_and_tried_again,
    finished_work_waits_for_its_next_time,
    cleared_work_is_gone,
    two_stores_take_each_row_once,
    waiters_hear_of_marks,
    a_store_is_idle_when_nobody_works_and_nothing_waits,
    what_is_set_aside_waits_to_be_released,
}

const LEASE: SignedDuration = SignedDuration::from_secs(30);

fn cluster() -> Due {
    Due::Cluster(ClusterId::random())
}

async fn mark(store: &Store, due: Due, when: Timestamp) {
    let mut batch = Batch::new();
    batch.mark_due(due, when);
    store.write(batch).await.unwrap();
}

async fn take(store: &Store, now: Timestamp) -> Vec<LeasedItem> {
    store.take_due("me", now, 100, LEASE).await.unwrap()
}

async fn finish(store: &Store, taken: &LeasedItem, next: Option<Timestamp>) {
    let mut batch = Batch::new();
    batch.finish_due(taken, next);
    store.write(batch).await.unwrap();
}

async fn the_earliest_mark_wins(database: Database) {
    let store = database.open().await;
    assert_eq!(store.next_due_at().await.unwrap(), None);
    let (first, second) =
        (cluster(), Due::Host(HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() }));
    mark(&store, first, at(10)).await;
    mark(&store, second, at(8)).await;
    mark(&store, first, at(5)).await;
    mark(&store, first, at(20)).await;
    assert_eq!(store.next_due_at().await.unwrap(), Some(at(5)));
    assert_eq!(take(&store, at(4)).await, []);

    let taken = store.take_due("me", at(8), 1, LEASE).await.unwrap();
    assert_eq!(taken.iter().map(|taken| (taken.due, taken.attempts)).collect::<Vec<_>>(), [(first, 1)]);
    assert_eq!(store.next_due_at().await.unwrap(), Some(at(8)));
    let taken = take(&store, at(8)).await;
    assert_eq!(taken.iter().map(|taken| taken.due).collect::<Vec<_>>(), [second]);
    finish(&store, &taken[0], None).await;
    assert_eq!(store.next_due_at().await.unwrap(), Some(at(38)));
}

async fn a_mark_under_a_lease_is_not_lost(database: Database) {
    let store = database.open().await;
    for next in [None, Some(at(1000))] {
        let due = cluster();
        mark(&store, due, at(1)).await;
        let taken = take(&store, at(1)).await;
        mark(&store, due, at(2)).await;
        assert_eq!(take(&store, at(3)).await, [], "leased");
        assert_eq!(store.next_due_at().await.unwrap(), Some(at(31)));
        finish(&store, &taken[0], next).await;
        let again = take(&store, at(3)).await;
        assert_eq!((again.len(), again[0].due, again[0].attempts), (1, due, 1));
        finish(&store, &again[0], None).await;
        assert_eq!(store.next_due_at().await.unwrap(), None);
    }
}

async fn a_decision_is_made_again_when_somebody_else_marked(database: Database) {
    let store = database.open().await;
    let record = support::cluster("decided", 1);
    let id = record.cluster.id;
    let due = Due::Cluster(id);
    let mut batch = Batch::new();
    batch.insert_cluster(&record);
    store.write(batch).await.unwrap();
    let marks = async || store.load_cluster(id, Deleted::Hidden).await.unwrap().unwrap().marks;
    let decide = async |seen: Option<MarkCount>| {
        let mut batch = Batch::new();
        batch.mark_decided(due, seen, at(1000), at(1));
        store.write(batch).await.unwrap();
        store.next_due_at().await.unwrap()
    };
    let never = marks().await;
    assert_eq!(never, None);
    assert_eq!(decide(never).await, Some(at(1000)), "nobody else marked it");
    assert_eq!(decide(never).await, Some(at(1)), "somebody did");
    let taken = take(&store, at(1)).await;
    let seen = marks().await;
    assert_eq!(seen, Some(taken[0].marks()));
    finish(&store, &taken[0], Some(at(2000))).await;
    assert_eq!(decide(seen).await, Some(at(1000)), "to look is not to mark");
    assert_eq!(decide(seen).await, Some(at(1)), "another decision is a mark");

    let taken = take(&store, at(1)).await;
    let seen = marks().await;
    finish(&store, &taken[0], None).await;
    assert_eq!(marks().await, None);
    assert_eq!(decide(seen).await, Some(at(1)), "it was looked at, nobody knows with what in mind");
}

async fn a_row_made_anew_is_not_taken_for_the_old_one(database: Database) {
    let store = database.open().await;
    let due = cluster();
    let taken = async || {
        mark(&store, due, at(1)).await;
        let taken = take(&store, at(1)).await.remove(0);
        let mut batch = Batch::new();
        batch.clear_due(due);
        store.write(batch).await.unwrap();
        taken
    };
    assert_ne!(taken().await.marks(), taken().await.marks());
}

async fn a_lease_runs_out(database: Database) {
    let store = database.open().await;
    mark(&store, cluster(), at(1)).await;
    let lost = take(&store, at(1)).await;
    assert_eq!(take(&store, at(30)).await, []);
    let taken = take(&store, at(31)).await;
    assert_eq!((taken[0].due, taken[0].attempts), (lost[0].due, 2));

    // The first worker was only slow: what it says is too late.
    finish(&store, &lost[0], None).await;
    let mut batch = Batch::new();
    batch.fail_due(&lost[0], "slow", at(32));
    store.write(batch).await.unwrap();
    assert_eq!(take(&store, at(40)).await, []);
    finish(&store, &taken[0], None).await;
    assert_eq!(store.next_due_at().await.unwrap(), None);
}

async fn leases_of_the_dead_are_freed(database: Database) {
    let store = database.open().await;
    let (taken, waits) = (cluster(), cluster());
    mark(&store, taken, at(1)).await;
    mark(&store, waits, at(100)).await;
    let cluster_id = ClusterId::random();
    let mut batch = Batch::new();
    batch.enqueue(&Action::DeleteLogs { cluster_id }, at(1));
    store.write(batch).await.unwrap();
    let lost = take(&store, at(1)).await;
    let asked = store.take_actions("me", at(1), 10, LEASE).await.unwrap();

    let store = database.open().await;
    store.free_leases(at(2)).await.unwrap();
    let (again, actions) =
        (take(&store, at(2)).await, store.take_actions("me", at(2), 10, LEASE).await.unwrap());
    if database.address.starts_with("postgres") {
        assert!(again.is_empty() && actions.is_empty(), "another replica may be at work on it");
        return;
    }
    assert_eq!(again.iter().map(|taken| (taken.due, taken.attempts)).collect::<Vec<_>>(), [(taken, 2)]);
    assert_eq!((actions.len(), actions[0].attempts), (1, 2));
    // Had it not been dead, it would be too late.
    finish(&store, &lost[0], None).await;
    let mut batch = Batch::new();
    batch.finish_action(&asked[0]);
    store.write(batch).await.unwrap_err();
    assert_eq!(store.actions(cluster_id).await.unwrap().len(), 1);
    assert_eq!(store.next_due_at().await.unwrap(), Some(at(32)));
}

async fn what_a_clock_that_was_ahead_wrote_is_mended(database: Database) {
    let store = database.open().await;
    let (taken, waits) = (cluster(), cluster());
    mark(&store, taken, at(10_000)).await;
    mark(&store, waits, at(20_000)).await;
    take(&store, at(10_000)).await;
    let host = support::host(InfraEnvId::random(), None, 1);
    let mut batch = Batch::new();
    batch.insert_host(&host);
    batch.enqueue(&Action::DeleteLogs { cluster_id: ClusterId::random() }, at(10_000));
    store.write(batch).await.unwrap();
    store.flush_checkins(&[(support::key(&host), at(10_000))]).await.unwrap();

    // With a clock that is right nothing is found.
    assert_eq!(store.return_from_future(at(10_000)).await.unwrap(), 0);
    assert!(take(&store, at(10_000)).await.is_empty());
    assert_eq!(store.return_from_future(at(100)).await.unwrap(), 1);
    let heard = store.host(support::key(&host), Deleted::Hidden).await.unwrap().unwrap().checked_in_at;
    assert_eq!(heard, Some(at(100)));
    let again: BTreeSet<Due> = take(&store, at(100)).await.iter().map(|taken| taken.due).collect();
    assert_eq!(again, BTreeSet::from([taken, waits]));
    assert_eq!(store.take_actions("me", at(100), 10, LEASE).await.unwrap().len(), 1);
    // The database's own clock is that of this machine.
    if let Some(time) = store.time().await.unwrap() {
        let apart = time.duration_since(Timestamp::now()).abs();
        assert!(apart < SignedDuration::from_mins(1), "{apart} apart");
    }
}

async fn failures_are_kept_and_tried_again(database: Database) {
    let store = database.open().await;
    let due = cluster();
    mark(&store, due, at(1)).await;
    let taken = take(&store, at(1)).await;
    let mut batch = Batch::new();
    batch.fail_due(&taken[0], "no release image", at(50));
    store.write(batch).await.unwrap();
    assert_eq!(take(&store, at(49)).await, []);
    let taken = take(&store, at(50)).await;
    assert_eq!((taken[0].attempts, taken[0].last_error.as_deref()), (2, Some("no release image")));

    mark(&store, due, at(51)).await;
    let mut batch = Batch::new();
    batch.fail_due(&taken[0], "again", at(90));
    store.write(batch).await.unwrap();
    let taken = take(&store, at(51)).await;
    assert_eq!(taken.len(), 1, "a mark does not wait for the retry");
    finish(&store, &taken[0], Some(at(60))).await;
    let taken = take(&store, at(60)).await;
    assert_eq!((taken[0].attempts, taken[0].last_error.as_deref()), (1, None));
}

async fn finished_work_waits_for_its_next_time(database: Database) {
    let store = database.open().await;
    mark(&store, cluster(), at(1)).await;
    for second in [1, 100, 200] {
        let taken = take(&store, at(second)).await;
        assert_eq!(taken.len(), 1);
        let next = at(if second == 1 { 100 } else { second + 100 });
        finish(&store, &taken[0], Some(next)).await;
        assert_eq!(store.next_due_at().await.unwrap(), Some(next));
    }
}

async fn cleared_work_is_gone(database: Database) {
    let store = database.open().await;
    let due = cluster();
    mark(&store, due, at(1)).await;
    let taken = take(&store, at(1)).await;
    let mut batch = Batch::new();
    batch.clear_due(due);
    store.write(batch).await.unwrap();
    finish(&store, &taken[0], Some(at(2))).await;
    assert_eq!(take(&store, at(1000)).await, []);
}

async fn two_stores_take_each_row_once(database: Database) {
    let stores = [database.open().await, database.open().await];
    let rows: BTreeSet<_> = (0..500).map(|_| cluster()).collect();
    let mut batch = Batch::new();
    for due in &rows {
        batch.mark_due(*due, at(1));
    }
    stores[0].write(batch).await.unwrap();

    let worker = async |store: &Store| {
        let mut mine = Vec::new();
        loop {
            let taken = store.take_due("worker", at(2), 7, LEASE).await.unwrap();
            if taken.is_empty() {
                return mine;
            }
            let mut batch = Batch::new();
            for taken in &taken {
                batch.finish_due(taken, None);
            }
            mine.extend(taken.iter().map(|taken| taken.due));
            store.write(batch).await.unwrap();
        }
    };
    let (a, b, c, d) =
        tokio::join!(worker(&stores[0]), worker(&stores[1]), worker(&stores[0]), worker(&stores[1]));
    let all: Vec<_> = [a, b, c, d].concat();
    assert_eq!(all.len(), rows.len());
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), rows);
    assert_eq!(stores[1].next_due_at().await.unwrap(), None);
}

async fn waiters_hear_of_marks(database: Database) {
    let store = database.open().await;
    let mut marks = store.due_marks();
    marks.mark_unchanged();
    let waiter = tokio::spawn(async move { marks.changed().await });
    mark(&store, cluster(), at(1)).await;
    waiter.await.unwrap().unwrap();
}

async fn a_store_is_idle_when_nobody_works_and_nothing_waits(database: Database) {
    let store = database.open().await;
    assert!(store.is_idle(at(10)).await.unwrap());
    mark(&store, cluster(), at(8)).await;
    assert!(store.is_idle(at(7)).await.unwrap() && !store.is_idle(at(8)).await.unwrap());
    let taken = take(&store, at(8)).await;
    assert!(!store.is_idle(at(8)).await.unwrap(), "someone works on it");
    finish(&store, &taken[0], Some(at(20))).await;
    assert!(store.is_idle(at(19)).await.unwrap());

    let cluster_id = ClusterId::random();
    let mut batch = Batch::new();
    batch
        .enqueue(&Action::DeleteLogs { cluster_id }, at(5))
        .enqueue(&Action::DeleteGenerated { cluster_id }, at(6));
    store.write(batch).await.unwrap();
    assert!(store.is_idle(at(4)).await.unwrap() && !store.is_idle(at(5)).await.unwrap());
    let asked = store.take_actions("me", at(5), 10, LEASE).await.unwrap();
    assert!(!store.is_idle(at(5)).await.unwrap());
    let mut batch = Batch::new();
    batch.fail_action(&asked[0], "not now", at(30));
    store.write(batch).await.unwrap();
    assert!(store.is_idle(at(19)).await.unwrap(), "the second action waits for the first");
}

async fn what_is_set_aside_waits_to_be_released(database: Database) {
    let store = database.open().await;
    let due = cluster();
    mark(&store, due, at(1)).await;
    let taken = take(&store, at(1)).await;
    assert!(!taken[0].is_aside);
    let mut batch = Batch::new();
    batch.set_due_aside(&taken[0], "it hung", at(2), at(1000));
    store.write(batch).await.unwrap();
    mark(&store, due, at(3)).await;
    assert_eq!(take(&store, at(999)).await, [], "a mark does not bring it back");
    assert!(store.is_idle(at(999)).await.unwrap());
    let shown = store.work(at(999), 10).await.unwrap();
    assert_eq!(
        (shown[0].key, shown[0].state, shown[0].next_at),
        (WorkKey::Due(due), WorkState::SetAside, at(1000))
    );

    // It is tried again when its time comes, and as soon as that ends well it is like any other.
    let again = take(&store, at(1000)).await;
    assert!(again[0].is_aside && again[0].last_error.as_deref() == Some("it hung"));
    assert_eq!(store.work(at(1000), 10).await.unwrap()[0].state, WorkState::Running);
    assert!(store.keep_due(&again[0], at(1100)).await.unwrap());
    assert!(!store.keep_due(&taken[0], at(2000)).await.unwrap(), "a lease that ran out");
    assert_eq!(take(&store, at(1099)).await, [], "it is kept");
    finish(&store, &again[0], Some(at(1200))).await;
    mark(&store, due, at(1150)).await;
    let taken = take(&store, at(1150)).await;
    assert!(!taken[0].is_aside && taken[0].last_error.is_none());

    let mut batch = Batch::new();
    batch.set_due_aside(&taken[0], "it hung again", at(1150), at(5000));
    store.write(batch).await.unwrap();
    let mut marks = store.due_marks();
    marks.mark_unchanged();
    assert!(store.release_due(due, at(1160)).await.unwrap());
    assert!(marks.has_changed().unwrap());
    assert!(!store.release_due(due, at(1160)).await.unwrap(), "it is released");
    let taken = take(&store, at(1160)).await;
    assert_eq!((taken.len(), taken[0].attempts), (1, 1));
}
