//! Actions: their order, leases, failures, and two replicas that share them.

use std::collections::BTreeSet;

use assisted_core::model::action::Action;
use assisted_store::{Batch, QueuedAction, Store, Subject, WorkKey, WorkState, WriteError};
use assisted_wire::id::ClusterId;
use jiff::{SignedDuration, Timestamp};

use crate::support::{Database, at, on_both};

on_both! {
    of_one_cluster_in_order,
    a_lease_runs_out,
    a_lease_is_kept,
    failures_are_kept_and_tried_again,
    given_back_without_a_failure,
    what_is_decided_on_a_lost_lease_is_not_written,
    two_stores_take_each_action_once,
    waiters_hear_of_them,
    what_is_set_aside_holds_up_its_cluster_until_it_is_released,
}

const LEASE: SignedDuration = SignedDuration::from_secs(30);

async fn write(store: &Store, fill: impl FnOnce(&mut Batch) -> &mut Batch) -> Result<(), WriteError> {
    let mut batch = Batch::new();
    let _ = fill(&mut batch);
    store.write(batch).await
}

async fn ask(store: &Store, action: &Action, when: Timestamp) {
    write(store, |batch| batch.enqueue(action, when)).await.unwrap();
}

async fn take(store: &Store, now: Timestamp) -> Vec<QueuedAction> {
    store.take_actions("me", now, 100, LEASE).await.unwrap()
}

fn is_lost(outcome: &Result<(), WriteError>, cluster_id: ClusterId) -> bool {
    matches!(outcome, Err(WriteError::Conflict { what }) if *what == Subject::Actions(cluster_id))
}

async fn of_one_cluster_in_order(database: Database) {
    let store = database.open().await;
    assert_eq!(store.next_action_at().await.unwrap(), None);
    let (one, other) = (ClusterId::random(), ClusterId::random());
    let wanted = [
        Action::DeleteLogs { cluster_id: one },
        Action::Generate { cluster_id: one, attempt: at(1).into() },
        Action::DeleteGenerated { cluster_id: one },
    ];
    for action in &wanted {
        ask(&store, action, at(2)).await;
    }
    ask(&store, &Action::DeleteLogs { cluster_id: other }, at(1)).await;
    assert_eq!(store.next_action_at().await.unwrap(), Some(at(1)));
    assert_eq!(take(&store, at(0)).await, []);

    let listed = store.actions(one).await.unwrap();
    assert_eq!(listed.iter().map(|asked| asked.action.clone()).collect::<Vec<_>>(), wanted);
    assert!(listed.iter().all(|asked| (asked.asked_at, asked.attempts) == (at(2), 0)));
    for (n, action) in wanted.iter().enumerate() {
        let mut taken = take(&store, at(3)).await;
        if n == 0 {
            assert_eq!(taken.len(), 2);
        }
        taken.retain(|asked| asked.action.cluster_id() == one);
        assert_eq!(taken.iter().map(|asked| &asked.action).collect::<Vec<_>>(), [action]);
        assert_eq!(take(&store, at(3)).await, [], "leased, and the next one waits");
        write(&store, |batch| batch.finish_action(&taken[0])).await.unwrap();
    }
    assert_eq!(store.actions(one).await.unwrap(), []);
    assert_eq!(store.actions(other).await.unwrap().len(), 1);
}

async fn one(store: &Store) -> (ClusterId, QueuedAction) {
    let cluster_id = ClusterId::random();
    ask(store, &Action::DeleteLogs { cluster_id }, at(1)).await;
    let taken = take(store, at(1)).await;
    assert_eq!((taken.len(), taken[0].attempts, &taken[0].last_error), (1, 1, &None));
    (cluster_id, taken[0].clone())
}

async fn a_lease_runs_out(database: Database) {
    let store = database.open().await;
    let (_, first) = one(&store).await;
    assert_eq!(store.next_action_at().await.unwrap(), Some(at(31)));
    assert_eq!(take(&store, at(30)).await, []);
    let again = take(&store, at(31)).await;
    assert_eq!((again.len(), again[0].attempts), (1, 2));
    assert_eq!(again[0].action, first.action);
}

async fn a_lease_is_kept(database: Database) {
    let store = database.open().await;
    let (cluster_id, taken) = one(&store).await;
    store.keep_action(&taken, at(50)).await.unwrap();
    assert_eq!(take(&store, at(49)).await, []);
    assert_eq!(take(&store, at(50)).await.len(), 1);
    assert!(is_lost(&store.keep_action(&taken, at(90)).await, cluster_id));
}

async fn failures_are_kept_and_tried_again(database: Database) {
    let store = database.open().await;
    let (cluster_id, taken) = one(&store).await;
    write(&store, |batch| batch.fail_action(&taken, "no room", at(9))).await.unwrap();
    let shown = store.actions(cluster_id).await.unwrap();
    assert_eq!((shown[0].attempts, shown[0].last_error.as_deref()), (1, Some("no room")));
    assert_eq!(take(&store, at(8)).await, []);
    let again = take(&store, at(9)).await;
    assert_eq!((again[0].attempts, again[0].last_error.as_deref()), (2, Some("no room")));
}

async fn given_back_without_a_failure(database: Database) {
    let store = database.open().await;
    let (_, taken) = one(&store).await;
    write(&store, |batch| batch.give_action_back(&taken, at(2))).await.unwrap();
    let again = take(&store, at(2)).await;
    assert_eq!((again.len(), &again[0].last_error), (1, &None));
}

async fn what_is_decided_on_a_lost_lease_is_not_written(database: Database) {
    let store = database.open().await;
    let (cluster_id, lost) = one(&store).await;
    let owned = take(&store, at(31)).await;
    let outcome = write(&store, |batch| {
        batch.enqueue(&Action::DeleteGenerated { cluster_id }, at(31)).finish_action(&lost)
    })
    .await;
    assert!(is_lost(&outcome, cluster_id), "{outcome:?}");
    assert!(is_lost(&write(&store, |batch| batch.fail_action(&lost, "late", at(40))).await, cluster_id));
    assert!(is_lost(&write(&store, |batch| batch.give_action_back(&lost, at(40))).await, cluster_id));
    assert_eq!(store.actions(cluster_id).await.unwrap(), owned);
}

async fn two_stores_take_each_action_once(database: Database) {
    let (one, other) = (database.open().await, database.open().await);
    for _ in 0..40 {
        ask(&one, &Action::DeleteLogs { cluster_id: ClusterId::random() }, at(1)).await;
    }
    let (mut taken, mut seen) = (0, BTreeSet::new());
    while taken < 40 {
        let (a, b) =
            tokio::join!(one.take_actions("a", at(1), 3, LEASE), other.take_actions("b", at(1), 3, LEASE));
        for asked in a.unwrap().into_iter().chain(b.unwrap()) {
            taken += 1;
            assert!(seen.insert(asked.action.cluster_id().0), "taken twice");
        }
    }
    assert_eq!(take(&one, at(1)).await, []);
}

async fn waiters_hear_of_them(database: Database) {
    let (one, other) = (database.open().await, database.open().await);
    let (mut here, mut due) = (one.action_marks(), one.due_marks());
    due.mark_unchanged();
    ask(&one, &Action::DeleteLogs { cluster_id: ClusterId::random() }, at(1)).await;
    here.changed().await.unwrap();
    assert!(!due.has_changed().unwrap(), "the scheduler has nothing to do with it");
    if database.address.starts_with("postgres") {
        let mut there = other.action_marks();
        ask(&one, &Action::DeleteLogs { cluster_id: ClusterId::random() }, at(1)).await;
        there.changed().await.unwrap();
    }
    let taken = take(&one, at(1)).await;
    here.mark_unchanged();
    write(&one, |batch| batch.finish_action(&taken[0])).await.unwrap();
    here.changed().await.unwrap();
}

async fn what_is_set_aside_holds_up_its_cluster_until_it_is_released(database: Database) {
    let store = database.open().await;
    let (id, asked) = one(&store).await;
    write(&store, |batch| batch.set_action_aside(&asked, "it hung", at(2), at(1000))).await.unwrap();
    assert_eq!(take(&store, at(999)).await, []);
    let shown = store.work(at(999), 10).await.unwrap();
    let key = WorkKey::Action { id: asked.id(), cluster_id: id };
    assert_eq!((shown[0].key, shown[0].state), (key, WorkState::SetAside));
    assert!(store.release_action(id, asked.id(), at(3)).await.unwrap());
    assert!(!store.release_action(id, asked.id(), at(3)).await.unwrap());
    let again = take(&store, at(3)).await;
    assert_eq!((again[0].attempts, again[0].last_error.as_deref()), (asked.attempts + 1, Some("it hung")));
    assert!(!again[0].is_aside);
}
