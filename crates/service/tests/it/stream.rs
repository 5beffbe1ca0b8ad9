//! Events and states on their way to others: to a broker, and to a server that is away, refuses, and dies amid an answer.

use std::collections::BTreeSet;

use assisted_core::model::host::HostKey;
use assisted_service::Work;
use assisted_service::event::ListEvents;
use assisted_store::{OutboxState, Sink};
use assisted_testkit::{Answer, Authority, Kafka as Broker};
use assisted_wire::host::HostStatus;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use rskafka::client::ClientBuilder;
use rskafka::client::partition::{OffsetAt, UnknownTopicHandling};
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, eventually, on_both_engines};

on_both_engines! {
    what_changes_is_told_without_secrets,
    nothing_is_lost_while_the_receiver_is_away,
    what_is_refused_is_set_aside_and_released,
    the_oldest_give_way,
    the_members_of_each_kind,
}

/// What a receiver answers that takes what it is sent.
const TAKES: Answer = Answer::Status(204);

/// Who is told.
struct Receiver(assisted_testkit::Receiver);

impl Receiver {
    fn start() -> Self {
        Self(assisted_testkit::Receiver::start(TAKES).unwrap())
    }

    fn set(&self, answer: Answer) {
        self.0.answer_with(answer);
    }

    /// What it has: it may have died before it said so.
    fn seen(&self) -> Vec<Value> {
        let mut received = self.0.received();
        received.retain(|received| [TAKES, Answer::Nothing].contains(&received.answer));
        received.iter().map(|received| serde_json::from_slice(&received.body).unwrap()).collect()
    }

    async fn lab(&self, database: &Database, time: Time) -> Lab {
        Lab::with(database, time, |settings| {
            settings.stream.webhook_url = format!("{}/events", self.0.url);
            settings.stream.webhook_secret = "hush".into();
            settings.stream.webhook_kinds =
                ["Event", "ClusterState", "HostState", "InfraEnv"].map(str::to_owned).to_vec();
            settings.stream.outbox_max_messages = 200;
        })
        .await
    }
}

fn ids(seen: &[Value]) -> BTreeSet<String> {
    seen.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

fn of_kind<'a>(seen: &'a [Value], kind: &str) -> Vec<&'a Value> {
    seen.iter()
        .filter(|event| event["type"] == format!("assisted.v1.{kind}"))
        .map(|event| &event["data"])
        .collect()
}

/// Waits until nothing waits to be sent.
async fn until_sent(lab: &Lab, sink: Sink) {
    until_outbox(lab, sink, "sent", |state| state.waiting == 0).await;
}

/// Waits until something holds of what waits for a sink; what failed is tried again by the clock.
async fn until_outbox(lab: &Lab, sink: Sink, what: &str, holds: impl Fn(&OutboxState) -> bool) {
    eventually(what, async || {
        lab.pass_at_rest(64).await;
        let state = lab.store.outbox_state(sink).await.unwrap();
        if holds(&state) { Ok(()) } else { Err(format!("{state:?}")) }
    })
    .await;
}

/// A cluster with a host, and with credentials wherever some may stand.
async fn cluster_with_secrets(lab: &Lab) -> (ClusterId, HostKey) {
    let cluster = lab
        .cluster(json!({
            "control_plane_count": 1, "high_availability_mode": "None", "base_dns_domain": "example.com",
            "http_proxy": "http://ann:hunter2@proxy.example.com:3128",
        }))
        .await;
    let params = json!({
        "name": "lab", "pull_secret": crate::lab::PULL_SECRET, "cluster_id": cluster.id,
        "proxy": {"http_proxy": "http://ann:hunter2@proxy.example.com:3128"},
        "ignition_config_override": r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/hunter2"}]}}"#,
    });
    let params = serde_json::from_value(params).unwrap();
    let infra_env = Box::pin(lab.service.infra_envs().register(&lab.caller, params)).await.unwrap();
    let host = lab.host(infra_env.id).await;
    lab.service
        .clusters()
        .update_install_config(&lab.caller, cluster.id, r#"{"controlPlane":{"name":"hunter2"}}"#)
        .await
        .unwrap();
    (cluster.id, host)
}

async fn what_changes_is_told_without_secrets(database: Database) {
    let receiver = Receiver::start();
    let lab = receiver.lab(&database, Time::default()).await;
    let (cluster_id, host) = cluster_with_secrets(&lab).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    until_sent(&lab, Sink::Webhook).await;
    let seen = receiver.seen();
    assert_eq!(ids(&seen).len(), seen.len(), "each once");

    let clusters = of_kind(&seen, "ClusterState");
    assert!(clusters.iter().all(|cluster| cluster["id"] == cluster_id.to_string()));
    let last = clusters.last().unwrap();
    let stored = lab.get_cluster(cluster_id).await;
    assert_eq!((&last["status"], &last["kind"]), (&json!(stored.status), &json!("Cluster")));
    assert_eq!(last["http_proxy"], "http://proxy.example.com:3128/");

    let hosts = of_kind(&seen, "HostState");
    let last = hosts.last().unwrap();
    assert_eq!((&last["status"], &last["id"]), (&json!("known"), &json!(host.host_id)));
    assert!(last["inventory"].as_str().unwrap().contains("hostname"), "reports are told as well");
    assert_eq!(of_kind(&seen, "InfraEnv")[0]["cluster_id"], cluster_id.to_string());

    // Each event that is listed, in order, with what the list leaves out.
    let listed = lab.events(ListEvents { cluster_id: Some(cluster_id), ..ListEvents::default() }).await;
    let told = of_kind(&seen, "Event");
    let of_cluster: Vec<_> = told
        .iter()
        .filter(|event| event["category"] == "user" && event["cluster_id"] == cluster_id.to_string())
        .map(|event| event["message"].as_str().unwrap())
        .collect();
    assert_eq!(of_cluster.len(), listed.events.0.len());
    for event in &listed.events.0 {
        assert!(of_cluster.contains(&event.message.as_str()), "{}", event.message);
    }
    assert!(seen.iter().all(|event| event["specversion"] == "1.0" && event["source"] == "assisted"));

    let all = serde_json::to_string(&seen).unwrap();
    for secret in ["hunter2", "dXNlcjpwYXNz", "hush"] {
        assert!(!all.contains(secret), "{secret} was told");
    }
    lab.stop().await;
}

/// What stands in messages as they are posted: nothing else is at work, so each is of a call.
async fn the_members_of_each_kind(database: Database) {
    let receiver = Receiver::start();
    let mut lab = receiver.lab(&database, Time::default()).await;
    lab.stop_background().await;
    let told = async |kind: &str, cluster_id: ClusterId| {
        let all = lab.store.messages(Sink::Webhook, 100).await.unwrap();
        let of = all.iter().filter(|message| message.kind == kind && message.cluster_id == Some(cluster_id));
        of.map(|message| serde_json::from_str(&message.body).unwrap()).collect::<Vec<Value>>()
    };

    // The family that comes first in clusters that have both, and no member in others.
    let both = |v4: Value, v6: Value, is_v4_first: bool| json!(if is_v4_first { [v4, v6] } else { [v6, v4] });
    let dual = |is_v4_first: bool| {
        let networks = |v4: &str, v6: &str| both(json!({"cidr": v4}), json!({"cidr": v6}), is_v4_first);
        let pods = |cidr: &str, prefix: u8| json!({"cidr": cidr, "host_prefix": prefix});
        json!({
            "cluster_networks": both(pods("10.128.0.0/14", 23), pods("fd01::/48", 64), is_v4_first),
            "service_networks": networks("172.30.0.0/16", "fd02::/112"),
            "machine_networks": networks("192.168.127.0/24", "1001:db8::/120"),
        })
    };
    for (networks, expected) in
        [(dual(true), Some(json!(4))), (dual(false), Some(json!(6))), (json!({}), None)]
    {
        let id = lab.cluster(networks).await.id;
        let states = told("ClusterState", id).await;
        assert_eq!(states.len(), 1, "{states:?}");
        assert_eq!(states[0].get("primary_ip_stack"), expected.as_ref());
        // As where hosts are left out of an answer.
        assert_eq!(states[0].get("hosts"), Some(&Value::Null));
        let events = told("Event", id).await;
        assert_eq!(events.len(), 1, "{events:?}");
        let request = json!(lab.caller.request_id);
        let expected = json!({
            "name": "cluster_registration_succeeded", "cluster_id": id, "severity": "info", "category": "user",
            "message": events[0]["message"], "event_time": "2026-01-02T03:04:05.000Z", "request_id": request,
        });
        assert_eq!(events[0], expected);
        assert!(events[0]["message"].is_string());
    }

    // One that comes from elsewhere is an event at most, until it is changed.
    let installed = ClusterId::random();
    let params =
        json!({"name": "i", "api_vip_dnsname": "api.i.example.com", "openshift_cluster_id": installed});
    let params = serde_json::from_value(params).unwrap();
    let imported = lab.service.clusters().import(&lab.caller, params).await.unwrap().id;
    assert_eq!((told("ClusterState", imported).await, told("Event", imported).await.len()), (Vec::new(), 1));
    let params = serde_json::from_value(json!({"name": "d", "openshift_version": "4.22"})).unwrap();
    let offline = lab.service.clusters().register_disconnected(&lab.caller, params).await.unwrap().id;
    assert_eq!((told("ClusterState", offline).await, told("Event", offline).await), (Vec::new(), Vec::new()));

    // All that an event can have.
    let event = json!({
        "name": "mine", "cluster_id": offline, "host_id": HostId::random(), "infra_env_id": InfraEnvId::random(),
        "severity": "warning", "category": "metrics", "message": "m", "event_time": "2000-01-01T00:00:00Z",
        "props": "{\"a\":1}",
    });
    let mut expected = event.clone();
    expected["event_time"] = json!("2026-01-02T03:04:05.000Z");
    expected["request_id"] = json!(lab.caller.request_id);
    lab.service.events().trigger(&lab.caller, serde_json::from_value(event).unwrap()).await.unwrap();
    assert_eq!(told("Event", offline).await, [expected]);
    lab.stop().await;
}

async fn nothing_is_lost_while_the_receiver_is_away(database: Database) {
    let receiver = Receiver::start();
    let lab = receiver.lab(&database, Time::default()).await;
    receiver.set(Answer::Status(503));
    let (cluster_id, host) = cluster_with_secrets(&lab).await;
    let row = eventually("tried", async || {
        let rows = lab.service.work().list(&lab.caller, None).await.unwrap().rows;
        let row = rows.into_iter().find(|row| row.id == "outbox.webhook" && row.last_error.is_some());
        row.ok_or_else(|| "no error is shown".to_owned())
    })
    .await;
    assert_eq!(row.last_error.unwrap(), "webhook: the receiver answered with status 503");
    for _ in 0..40 {
        lab.pass(64);
        lab.poll(host).await.unwrap();
    }
    let before = lab.store.messages(Sink::Webhook, 1000).await.unwrap();
    assert!(before.len() > 5 && receiver.seen().is_empty(), "{before:?}");

    // It takes the first, and is gone before it says so: whoever sends can't know, and another process goes on.
    receiver.set(Answer::Nothing);
    eventually("died", async || {
        lab.pass_at_rest(64).await;
        if receiver.seen().is_empty() { Err("nothing was sent".to_owned()) } else { Ok(()) }
    })
    .await;
    let time = lab.time.clone();
    lab.stop().await;
    receiver.set(TAKES);
    let lab = receiver.lab(&database, time).await;
    lab.report_all(host, 1).await;
    until_sent(&lab, Sink::Webhook).await;
    let seen = receiver.seen();
    let unique = ids(&seen);
    assert!(unique.len() < seen.len(), "what was sent twice has one id");
    for message in &before {
        assert!(unique.contains(&message.id.to_string()), "{message:?} is lost");
    }
    // The first time that each is seen is in the order in which it was posted.
    let mut known = BTreeSet::new();
    let subject = json!(format!("clusters/{cluster_id}"));
    let first =
        seen.iter().filter(|event| event["subject"] == subject && known.insert(event["id"].to_string()));
    let got: Vec<_> = first.map(|event| event["id"].as_str().unwrap().to_owned()).collect();
    let posted = before.iter().filter(|message| message.cluster_id == Some(cluster_id));
    let posted: Vec<_> = posted.map(|message| message.id.to_string()).collect();
    assert_eq!(got[..posted.len()], posted);
    lab.stop().await;
}

async fn what_is_refused_is_set_aside_and_released(database: Database) {
    let receiver = Receiver::start();
    let lab = receiver.lab(&database, Time::default()).await;
    receiver.set(Answer::Status(400));
    lab.infra_env(None).await;
    until_outbox(&lab, Sink::Webhook, "set aside", |state| state.aside > 0 && state.waiting == 0).await;
    let metrics = String::from_utf8(lab.service.metrics().text().await.unwrap()).unwrap();
    assert!(metrics.contains(r#"assisted_outbox_set_aside{sink="webhook"}"#), "{metrics}");
    receiver.set(TAKES);
    // What comes after it is not held up.
    lab.infra_env(None).await;
    until_sent(&lab, Sink::Webhook).await;
    let later = receiver.seen().len();
    assert!(later > 0);
    let work: &Work = lab.service.work();
    work.release(&lab.caller, "outbox.webhook").await.unwrap();
    until_outbox(&lab, Sink::Webhook, "released", |state| state.aside + state.waiting == 0).await;
    assert!(receiver.seen().len() > later);
    work.release(&lab.caller, "outbox.webhook").await.unwrap_err();
    lab.stop().await;
}

async fn the_oldest_give_way(database: Database) {
    let receiver = Receiver::start();
    let lab = receiver.lab(&database, Time::default()).await;
    receiver.set(Answer::Status(500));
    for _ in 0..120 {
        lab.infra_env(None).await;
    }
    until_outbox(&lab, Sink::Webhook, "trimmed", |state| state.waiting <= 200).await;
    let metrics = String::from_utf8(lab.service.metrics().text().await.unwrap()).unwrap();
    let dropped = metrics
        .lines()
        .find_map(|line| line.strip_prefix(r#"assisted_outbox_dropped_total{sink="webhook"} "#));
    assert!(dropped.unwrap().parse::<u64>().unwrap() > 0, "what is lost is told");
    // Three days later nothing of it is worth telling.
    lab.pass(73 * 3600);
    until_sent(&lab, Sink::Webhook).await;
    assert!(receiver.seen().is_empty());
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_told_unless_somebody_is_set() {
    let database = Database::sqlite();
    let lab = Lab::start(&database).await;
    let (cluster_id, host) = cluster_with_secrets(&lab).await;
    lab.report_all(host, 1).await;
    lab.get_cluster(cluster_id).await;
    for sink in Sink::ALL {
        assert_eq!(lab.store.messages(sink, 10).await.unwrap(), []);
    }
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_gets_what_the_reference_says() {
    let dir = tempfile::tempdir().unwrap();
    let mut broker = Broker::start(dir.path(), &Authority::new("brokers").unwrap()).unwrap();
    let client = ClientBuilder::new(vec![broker.address()]).build().await.unwrap();
    let controller = client.controller_client().unwrap();
    controller.create_topic("events-stream", Broker::PARTITIONS, 1, 10_000).await.unwrap();
    let address = broker.address();
    let database = Database::sqlite();
    let lab = Lab::with(&database, Time::default(), |settings| {
        settings.stream.enable_event_streaming = true;
        settings.stream.kafka_bootstrap_server = vec![address.clone()];
        settings.stream.kafka_topic = "events-stream".to_owned();
        settings.images.release_tag = "v1".to_owned();
    })
    .await;
    let (cluster_id, host) = cluster_with_secrets(&lab).await;
    until_sent(&lab, Sink::Kafka).await;
    // While it is gone everything goes on, and afterwards all of it arrives.
    broker.kill();
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    assert!(lab.store.outbox_state(Sink::Kafka).await.unwrap().waiting > 0);
    broker.restart().unwrap();
    until_sent(&lab, Sink::Kafka).await;

    let client = ClientBuilder::new(vec![address]).build().await.unwrap();
    let mut partitions = BTreeSet::new();
    let (mut names, mut states) = (BTreeSet::new(), Vec::new());
    for number in 0..Broker::PARTITIONS {
        let partition =
            client.partition_client("events-stream", number, UnknownTopicHandling::Error).await.unwrap();
        let (mut offset, end) = (0, partition.get_offset(OffsetAt::Latest).await.unwrap());
        while offset < end {
            let (records, _) = partition.fetch_records(offset, 1..10_000_000, 1000).await.unwrap();
            offset += i64::try_from(records.len()).unwrap();
            for found in records {
                let value: Value = serde_json::from_slice(found.record.value.as_deref().unwrap()).unwrap();
                assert_eq!(value.as_object().unwrap().len(), 3, "{value}");
                assert_eq!(value["Metadata"]["versions"]["release_tag"], "v1");
                assert!(value["Metadata"]["versions"]["versions"]["discovery-agent"].is_string());
                names.insert(value["Name"].as_str().unwrap().to_owned());
                let key = String::from_utf8(found.record.key.unwrap()).unwrap();
                if key == cluster_id.to_string() {
                    partitions.insert(number);
                }
                if value["Name"] == "HostState" {
                    states.push(value["Payload"]["status"].as_str().unwrap().to_owned());
                }
                assert!(!value.to_string().contains("hunter2"));
            }
        }
    }
    assert_eq!(names, ["ClusterState", "Event", "HostState", "InfraEnv"].map(str::to_owned).into());
    assert_eq!((partitions.len(), states.last().map(String::as_str)), (1, Some("known")));
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_replicas_one_sends_at_a_time() {
    let receiver = Receiver::start();
    let database = Database::postgres();
    let one = receiver.lab(&database, Time::default()).await;
    let other = receiver.lab(&database, one.time.clone()).await;
    let (cluster_id, host) = cluster_with_secrets(&one).await;
    for lab in [&one, &other, &one] {
        lab.report_all(host, 1).await;
        let params = json!({"name": format!("c-{}", receiver.seen().len())});
        let params = serde_json::from_value(params).unwrap();
        lab.service.clusters().update(&lab.caller, cluster_id, params).await.unwrap();
    }
    until_sent(&other, Sink::Webhook).await;
    let seen = receiver.seen();
    assert_eq!(ids(&seen).len(), seen.len(), "each once");
    let clusters = of_kind(&seen, "ClusterState");
    let updated: Vec<_> = clusters.iter().map(|cluster| cluster["updated_at"].as_str().unwrap()).collect();
    assert!(updated.is_sorted(), "{updated:?}");
    assert_eq!(clusters.last().unwrap()["name"], one.get_cluster(cluster_id).await.name);
    one.stop().await;
    other.stop().await;
}
