//! Messages for others: their order, what is taken from them, and how much may wait.

use assisted_store::{Batch, Due, NewMessage, OutboxLimits, OutboxState, Sink, Store};
use assisted_wire::id::ClusterId;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::support::{Database, at, cluster, on_both};

on_both! {
    messages_wait_in_order_until_they_are_taken,
    a_change_that_fails_tells_nobody,
    a_message_that_is_set_aside_is_left_alone_until_it_is_released,
    no_more_waits_than_may,
}

fn message(sink: Sink, cluster_id: Option<ClusterId>, body: &str) -> NewMessage {
    NewMessage { sink, id: Uuid::new_v4(), kind: "Event", cluster_id, body: body.to_owned() }
}

async fn post(store: &Store, messages: impl IntoIterator<Item = NewMessage>, when: Timestamp) {
    let mut batch = Batch::new();
    for message in messages {
        batch.post(message, when, when);
    }
    store.write(batch).await.unwrap();
}

async fn bodies(store: &Store, sink: Sink) -> Vec<String> {
    store.messages(sink, 1000).await.unwrap().into_iter().map(|message| message.body).collect()
}

async fn messages_wait_in_order_until_they_are_taken(database: Database) {
    let store = database.open().await;
    let id = ClusterId::random();
    let sent: Vec<_> = (0..100).map(|n| message(Sink::Kafka, Some(id), &format!("{{\"n\":{n}}}"))).collect();
    post(&store, sent[..60].to_vec(), at(5)).await;
    post(&store, [message(Sink::Webhook, None, "{}")], at(6)).await;
    post(&store, sent[60..].to_vec(), at(7)).await;
    let found = store.messages(Sink::Kafka, 1000).await.unwrap();
    assert!(found.iter().zip(&sent).all(|(found, sent)| (found.id, &found.body) == (sent.id, &sent.body)));
    assert_eq!((found.len(), found[0].cluster_id, found[0].at), (100, Some(id), at(5)));
    assert_eq!(store.messages(Sink::Kafka, 3).await.unwrap(), found[..3]);

    let taken = store.take_due("me", at(8), 10, SignedDuration::from_secs(10)).await.unwrap();
    let due: Vec<_> = taken.iter().map(|taken| taken.due).collect();
    assert!(due.contains(&Due::Outbox(Sink::Kafka)) && due.contains(&Due::Outbox(Sink::Webhook)), "{due:?}");

    // One that died between sending and this is followed by one that finds them again, under the same ids.
    drop(store);
    let store = database.open().await;
    assert_eq!(store.messages(Sink::Kafka, 1000).await.unwrap(), found);
    let mut batch = Batch::new();
    batch.remove_messages(&found[..99].iter().map(|message| message.number).collect::<Vec<_>>());
    batch.remove_messages(&[]);
    store.write(batch).await.unwrap();
    assert_eq!(bodies(&store, Sink::Kafka).await, [r#"{"n":99}"#]);
    let state = store.outbox_state(Sink::Kafka).await.unwrap();
    assert_eq!(state, OutboxState { waiting: 1, bytes: 8, oldest: Some(at(7)), aside: 0 });
}

async fn a_change_that_fails_tells_nobody(database: Database) {
    let store = database.open().await;
    let record = cluster("one", 1);
    for (body, wanted) in [("1", true), ("2", false)] {
        let mut batch = Batch::new();
        batch.insert_cluster(&record).post(message(Sink::Kafka, None, body), at(1), at(1));
        let written = store.write(batch).await;
        assert_eq!(written.is_ok(), wanted, "{written:?}");
        assert_eq!(bodies(&store, Sink::Kafka).await, ["1"]);
    }
}

async fn a_message_that_is_set_aside_is_left_alone_until_it_is_released(database: Database) {
    let store = database.open().await;
    post(&store, ["1", "2"].map(|body| message(Sink::Webhook, None, body)), at(1)).await;
    let first = store.messages(Sink::Webhook, 1).await.unwrap().remove(0);
    for (aside, left) in [(None, 2), (Some(at(3)), 1)] {
        let mut batch = Batch::new();
        batch.refuse_message(first.number, "status 400".to_owned(), aside);
        store.write(batch).await.unwrap();
        assert_eq!(store.messages(Sink::Webhook, 10).await.unwrap().len(), left);
    }
    let state = store.outbox_state(Sink::Webhook).await.unwrap();
    assert_eq!((state.waiting, state.aside), (1, 1));
    assert_eq!(store.release_messages(Sink::Kafka).await.unwrap(), 0);
    assert_eq!(store.release_messages(Sink::Webhook).await.unwrap(), 1);
    let found = store.messages(Sink::Webhook, 10).await.unwrap();
    assert_eq!((found.len(), found[0].id, found[0].attempts), (2, first.id, 0));
}

async fn no_more_waits_than_may(database: Database) {
    let store = database.open().await;
    let much = OutboxLimits { messages: 1000, bytes: 1000, before: at(0) };
    let trim = async |limits| store.trim_outbox(Sink::Kafka, limits).await.unwrap();
    post(&store, [message(Sink::Webhook, None, "kept")], at(1)).await;
    for n in 1..=10 {
        post(&store, [message(Sink::Kafka, None, &format!("{n:0>10}"))], at(n)).await;
    }
    assert_eq!(trim(much).await, 0);
    assert_eq!(trim(OutboxLimits { before: at(3), ..much }).await, 2, "the first two are too old");
    assert_eq!(trim(OutboxLimits { messages: 5, ..much }).await, 3);
    assert_eq!(trim(OutboxLimits { bytes: 25, ..much }).await, 3);
    assert_eq!(bodies(&store, Sink::Kafka).await, ["0000000009", "0000000010"], "the newest are kept");
    assert_eq!(bodies(&store, Sink::Webhook).await, ["kept"]);
}
