//! A real broker: order, partitions, logins, a broker that goes away.

use std::time::Duration;

use assisted_sink::{Delivery, Kafka, KafkaLogin, KafkaSettings, Mechanism, Message};
use assisted_testkit::{Authority, Kafka as Broker};
use jiff::Timestamp;
use rskafka::client::partition::{OffsetAt, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use serde_json::Value;
use uuid::Uuid;

const TOPIC: &str = "events-stream";

fn message(key: Option<Uuid>, number: usize) -> Message {
    Message {
        id: Uuid::new_v4(),
        kind: "Event".to_owned(),
        key,
        at: Timestamp::from_second(1_700_000_000).unwrap(),
        body: format!("{{\"number\":{number}}}"),
    }
}

fn topic(broker: &Broker) -> Kafka {
    Kafka::new(KafkaSettings {
        brokers: vec![broker.address()],
        topic: TOPIC.to_owned(),
        login: None,
        metadata: r#"{"versions":{}}"#.to_owned(),
    })
    .unwrap()
}

async fn client(broker: &Broker) -> Client {
    ClientBuilder::new(vec![broker.address()]).build().await.unwrap()
}

async fn create_topic(broker: &Broker) {
    let controller = client(broker).await.controller_client().unwrap();
    controller.create_topic(TOPIC, Broker::PARTITIONS, 1, 10_000).await.unwrap();
}

/// All records, each with its partition.
async fn read(broker: &Broker) -> Vec<(i32, Record)> {
    let client = client(broker).await;
    let mut all = Vec::new();
    for number in 0..Broker::PARTITIONS {
        let partition = client.partition_client(TOPIC, number, UnknownTopicHandling::Error).await.unwrap();
        let (mut offset, end) = (0, partition.get_offset(OffsetAt::Latest).await.unwrap());
        while offset < end {
            let (records, _) = partition.fetch_records(offset, 1..10_000_000, 1000).await.unwrap();
            offset += i64::try_from(records.len()).unwrap();
            all.extend(records.into_iter().map(|found| (number, found.record)));
        }
    }
    all
}

fn number(record: &Record) -> u64 {
    let value: Value = serde_json::from_slice(record.value.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&value["Name"], &value["Metadata"]["versions"]),
        (&Value::from("Event"), &serde_json::json!({}))
    );
    value["Payload"]["number"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_reach_a_broker_in_order_and_outlive_its_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(dir.path(), &Authority::new("brokers").unwrap()).unwrap();
    let kafka = topic(&broker);
    let missing = kafka.send(&[message(None, 0)]).await;
    assert_eq!(missing.failed.unwrap().reason, "there is no topic events-stream: create it");

    create_topic(&broker).await;
    let keys: Vec<_> = (0..20).map(|_| Some(Uuid::new_v4())).chain([None]).collect();
    let messages: Vec<_> = (0..400).map(|n| message(keys[n % keys.len()], n)).collect();
    let sent = kafka.send(&messages[..200]).await;
    assert_eq!((sent.taken.len(), &sent.refused[..], sent.failed), (200, &[][..], None));

    broker.kill();
    let away = kafka.send(&messages[200..]).await;
    assert!(away.taken.is_empty() && away.failed.is_some(), "{away:?}");
    broker.restart().unwrap();
    let mut delivery = Delivery::default();
    for _ in 0..20 {
        delivery = kafka.send(&messages[200..]).await;
        if delivery.failed.is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!((delivery.taken.len(), delivery.failed), (200, None));

    let found = read(&broker).await;
    assert_eq!(found.len(), 400);
    for key in &keys {
        let text = key.map(|key| key.to_string()).unwrap_or_default().into_bytes();
        let of_key: Vec<_> =
            found.iter().filter(|(_, record)| record.key.as_deref() == Some(&text[..])).collect();
        assert!(of_key.iter().all(|(partition, _)| *partition == of_key[0].0), "one key, one partition");
        let numbers: Vec<_> = of_key.iter().map(|(_, record)| number(record)).collect();
        let sent: Vec<_> =
            (0..400_u64).filter(|n| keys[usize::try_from(*n).unwrap() % keys.len()] == *key).collect();
        assert_eq!(numbers, sent);
    }
    let ids: std::collections::BTreeSet<_> =
        found.iter().map(|(_, record)| record.headers["id"].clone()).collect();
    assert_eq!(ids, messages.iter().map(|message| message.id.to_string().into_bytes()).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_is_logged_in_at_over_tls() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new("brokers").unwrap();
    let broker = Broker::start(dir.path(), &authority).unwrap();
    create_topic(&broker).await;
    let file = dir.path().join("ca.pem");
    std::fs::write(&file, &authority.pem).unwrap();
    let foreign = dir.path().join("foreign.pem");
    std::fs::write(&foreign, Authority::new("foreign").unwrap().pem).unwrap();
    let send = async |mechanism, password: &str, trusted: &std::path::Path| {
        let kafka = Kafka::new(KafkaSettings {
            brokers: vec![broker.tls_address()],
            topic: TOPIC.to_owned(),
            login: Some(KafkaLogin {
                name: Broker::USER.to_owned(),
                secret: password.into(),
                mechanism,
                authorities: Some(trusted.to_owned()),
            }),
            metadata: "{}".to_owned(),
        })
        .unwrap();
        assert!(!format!("{kafka:?}").contains(Broker::PASSWORD));
        kafka.send(&[message(None, 1)]).await
    };
    for mechanism in [Mechanism::Plain, Mechanism::Scram] {
        let sent = send(mechanism, Broker::PASSWORD, &file).await;
        assert_eq!((sent.taken.len(), sent.failed), (1, None), "{mechanism:?}");
        for (password, trusted) in [("wrong", &file), (Broker::PASSWORD, &foreign)] {
            let failed = send(mechanism, password, trusted).await.failed.unwrap();
            assert!(failed.reason.starts_with("no broker answers: "), "{failed:?}");
            assert!(!failed.reason.contains(Broker::PASSWORD), "{failed:?}");
        }
    }
    assert_eq!(read(&broker).await.len(), 2);
}
