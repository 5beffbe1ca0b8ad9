//! What is told to those who watch.

use std::time::Duration;

use assisted_service::event::live::{Change, Cursor, Message, Watch, Watcher};
use assisted_wire::cluster::Cluster;
use assisted_wire::id::ClusterId;
use assisted_wire::live::ChangeKind;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, on_both_engines};

on_both_engines! {
    an_event_is_told_before_what_it_is_about, a_watcher_that_moves_gets_what_it_missed, infra_envs_are_told_on_request,
}

const LIMIT: Duration = Duration::from_secs(30);

async fn watch(lab: &Lab, cluster: ClusterId, cursor: Option<Cursor>) -> Watcher {
    lab.service
        .events()
        .watch(&lab.caller, Watch { cluster_id: Some(cluster), cursor, ..Watch::default() })
        .await
        .unwrap()
}

async fn next(watcher: &mut Watcher) -> (Message, Value) {
    let told = tokio::time::timeout(LIMIT, watcher.next()).await.unwrap();
    let message = told.unwrap();
    let data = match message.change() {
        Change::Cluster(cluster) => serde_json::to_value(cluster),
        Change::Host(host) => serde_json::to_value(host),
        Change::Event(event) => serde_json::to_value(event),
        Change::InfraEnv(infra_env) => serde_json::to_value(infra_env),
        Change::InfraEnvDeleted(id) => serde_json::to_value(id),
        Change::Reset => Ok(json!({})),
    };
    (message, data.unwrap())
}

fn kind(message: &Message) -> ChangeKind {
    match message.change() {
        Change::Cluster(_) => ChangeKind::Cluster,
        Change::Host(_) => ChangeKind::Host,
        Change::Event(_) => ChangeKind::Event,
        Change::Reset => ChangeKind::Reset,
        infra_env => panic!("{infra_env:?}"),
    }
}

/// Everything that is told until something holds, that included.
async fn until(
    watcher: &mut Watcher,
    holds: impl Fn(ChangeKind, &Value) -> bool,
) -> Vec<(ChangeKind, Value, Option<Cursor>)> {
    let mut all = Vec::new();
    loop {
        let (message, data) = next(watcher).await;
        let held = holds(kind(&message), &data);
        all.push((kind(&message), data, message.cursor));
        if held {
            return all;
        }
    }
}

async fn rename(lab: &Lab, cluster: &Cluster, name: &str) {
    let params = serde_json::from_value(json!({"name": name})).unwrap();
    Box::pin(lab.service.clusters().update(&lab.caller, cluster.id, params)).await.unwrap();
}

fn is_named(kind: ChangeKind, data: &Value, name: &str) -> bool {
    kind == ChangeKind::Cluster && data["name"] == name
}

async fn an_event_is_told_before_what_it_is_about(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let mut watcher = watch(&lab, cluster.id, None).await;
    // What belongs together has no place within it.
    let (first, _) = next(&mut watcher).await;
    assert_eq!((kind(&first), first.cursor), (ChangeKind::Reset, None));
    until(&mut watcher, |kind, data| kind == ChangeKind::Event && data["name"] == "infra_env_registered")
        .await;

    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    let told = until(&mut watcher, |kind, data| kind == ChangeKind::Host && data["status"] == "known").await;
    let at = |wanted: &dyn Fn(ChangeKind, &Value) -> bool| {
        told.iter().position(|(kind, data, _)| wanted(*kind, data)).unwrap()
    };
    let is_registered =
        |kind, data: &Value| kind == ChangeKind::Event && data["name"] == "host_registration_succeeded";
    assert!(at(&is_registered) < at(&|kind, _| kind == ChangeKind::Host));
    let (_, host, cursor) = told.last().unwrap();
    assert!(cursor.is_some(), "it is not told where to go on");
    assert!(!host["requested_hostname"].as_str().unwrap().is_empty(), "{host}");
    assert!(host["progress_stages"].is_array() && host.get("inventory").is_none(), "{host}");
    // Nobody is told who asked for it.
    assert!(told.iter().all(|(_, data, _)| data.get("request_id").is_none()));
    lab.stop().await;
}

async fn a_watcher_that_moves_gets_what_it_missed(database: Database) {
    let time = Time::default();
    let one = Lab::at(&database, time.clone()).await;
    let cluster = one.single_node().await;
    let mut watcher = watch(&one, cluster.id, None).await;
    until(&mut watcher, |kind, _| kind == ChangeKind::Event).await;
    rename(&one, &cluster, "before").await;
    let told = until(&mut watcher, |kind, data| is_named(kind, data, "before")).await;
    let cursor = told.last().unwrap().2;
    drop(watcher);
    let sent = |name: &str| {
        let event = json!({
            "name": name, "severity": "info", "message": name, "event_time": "2000-01-01T00:00:00Z",
            "cluster_id": cluster.id,
        });
        serde_json::from_value(event).unwrap()
    };
    one.service.events().trigger(&one.caller, sent("missed")).await.unwrap();

    // Another process, or the same one after a restart.
    one.stop().await;
    let other = Lab::at(&database, time).await;
    let mut watcher = watch(&other, cluster.id, cursor).await;
    assert_eq!(kind(&next(&mut watcher).await.0), ChangeKind::Reset);
    let (message, data) = next(&mut watcher).await;
    assert!(is_named(kind(&message), &data, "before"), "{data}");
    let is_event = |kind, data: &Value, name: &str| kind == ChangeKind::Event && data["name"] == name;
    let missed = until(&mut watcher, |kind, data| is_event(kind, data, "missed")).await;
    // What was told before is not told again.
    assert!(missed.iter().all(|(kind, data, _)| !is_event(*kind, data, "cluster_registration_succeeded")));
    // An event without a change of anything else.
    other.service.events().trigger(&other.caller, sent("later")).await.unwrap();
    until(&mut watcher, |kind, data| is_event(kind, data, "later")).await;
    other.stop().await;
    // What was told before may still be read, then the watch ends.
    let end = async { while watcher.next().await.is_some() {} };
    tokio::time::timeout(LIMIT, end).await.unwrap();
}

async fn infra_envs_are_told_on_request(database: Database) {
    let lab = Lab::start(&database).await;
    let mut watcher = lab
        .service
        .events()
        .watch(&lab.caller, Watch { infra_envs: true, ..Watch::default() })
        .await
        .unwrap();
    assert_eq!(*next(&mut watcher).await.0.change(), Change::Reset);
    let infra_env = lab.infra_env(None).await;
    let mut until = async |wanted: Change| while *next(&mut watcher).await.0.change() != wanted {};
    let stored = lab.service.infra_envs().get(&lab.caller, infra_env.id).await.unwrap();
    until(Change::InfraEnv(Box::new(stored))).await;
    lab.service.infra_envs().deregister(&lab.caller, infra_env.id).await.unwrap();
    until(Change::InfraEnvDeleted(infra_env.id)).await;
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_replica_does_is_told() {
    let database = Database::postgres();
    let one = Lab::start(&database).await;
    let other = Lab::at(&database, one.time.clone()).await;
    let cluster = one.single_node().await;
    let mut watcher = watch(&one, cluster.id, None).await;
    until(&mut watcher, |kind, _| kind == ChangeKind::Event).await;
    rename(&other, &cluster, "elsewhere").await;
    until(&mut watcher, |kind, data| is_named(kind, data, "elsewhere")).await;
    let infra_env = other.infra_env(Some(cluster.id)).await;
    let host = other.host(infra_env.id).await;
    let told =
        until(&mut watcher, |kind, data| kind == ChangeKind::Host && data["id"] == json!(host.host_id)).await;
    assert!(
        told.iter().any(
            |(kind, data, _)| *kind == ChangeKind::Event && data["name"] == "host_registration_succeeded"
        )
    );
    one.stop().await;
    other.stop().await;
}
