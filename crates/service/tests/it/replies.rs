//! Answers of hosts: in any order, twice, of strangers, broken.

use std::time::{Duration, Instant};

use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::Error;
use assisted_wire::cluster_params::ClusterUpdateParams;
use assisted_wire::host::{Host, HostStatus};
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::HostId;
use assisted_wire::step::{StepReply, StepType};
use serde_json::{Value, json};

use crate::lab::{AGENT, Database, Lab, inventory, on_both_engines, refusal, resolutions, time_sources};

/// How long a service that is busy may go on refusing.
const PATIENCE: Duration = Duration::from_secs(120);

/// Hosts that register at once.
const HUNDREDS: usize = 200;

on_both_engines![
    in_any_order,
    twice,
    strange,
    of_hostile_machines,
    of_machines_that_cannot_be,
    of_a_host_that_never_stops,
    at_the_same_time,
    hundreds_at_the_same_time,
    while_a_host_begins_anew
];

async fn in_any_order(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.reply(host, StepType::DomainResolution, &resolutions()).await.unwrap();
    lab.reply(host, StepType::NtpSynchronizer, &time_sources()).await.unwrap();
    lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    lab.poll(host).await.unwrap();
    lab.until(host, HostStatus::Known).await;
    lab.stop().await;
}

async fn twice(database: Database) {
    let lab = Lab::start(&database).await;
    let pool = lab.infra_env(None).await;
    let host = lab.host(pool.id).await;
    lab.report_all(host, 1).await;
    let before = lab.until(host, HostStatus::KnownUnbound).await;
    lab.pass(1);
    for _ in 0..3 {
        lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    }
    let after = lab.get(host).await;
    assert_eq!((after.updated_at, &after.inventory), (before.updated_at, &before.inventory));
    // What is known by heart does not hide what is new.
    lab.reply(host, StepType::Inventory, &inventory(9)).await.unwrap();
    assert!(lab.get(host).await.inventory.contains("192.168.126.19"));
    lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    assert_eq!(lab.get(host).await.inventory, before.inventory);
    lab.stop().await;
}

async fn strange(database: Database) {
    let lab = Lab::start(&database).await;
    let pool = lab.infra_env(None).await;
    let host = lab.host(pool.id).await;
    let stranger = HostKey { host_id: HostId::random(), ..host };
    assert_eq!(
        refusal(lab.reply(stranger, StepType::Inventory, &inventory(1)).await).0,
        RefusalKind::NotFound
    );
    assert_eq!(
        refusal(lab.reply(host, StepType::Inventory, &json!("nonsense")).await).0,
        RefusalKind::Invalid
    );
    assert_eq!(
        refusal(lab.reply(host, StepType::NtpSynchronizer, &json!([1])).await).0,
        RefusalKind::Invalid
    );
    assert!(lab.get(host).await.inventory.is_empty());

    let failed = |exit_code| StepReply {
        step_type: Some(StepType::Inventory),
        step_id: "inventory-00000000".to_owned(),
        exit_code,
        error: "no".to_owned(),
        ..StepReply::default()
    };
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::KnownUnbound).await;
    lab.service.hosts().post_step_reply(&lab.caller, host, failed(1)).await.unwrap();
    assert!(!lab.get(host).await.inventory.is_empty());
    lab.service.hosts().post_step_reply(&lab.caller, host, failed(256)).await.unwrap();
    lab.until(host, HostStatus::DisconnectedUnbound).await;
    // The same inventory as before is news now: the media can be read again.
    lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    lab.until(host, HostStatus::KnownUnbound).await;
    lab.stop().await;
}

async fn of_hostile_machines(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    let long = "n".repeat(10_000);
    for name in [
        "\0",
        "a\0b\n\u{1b}[2J",
        "\u{202e}moc.elpmaxe",
        "$(reboot)",
        "'; drop table hosts; --",
        "\u{1f4a5}",
        &long,
    ] {
        let mut hostile = inventory(1);
        hostile["hostname"] = json!(name);
        hostile["interfaces"][0]["name"] = json!(name);
        hostile["disks"][0]["serial"] = json!(name);
        lab.reply(host, StepType::Inventory, &hostile).await.unwrap();
        // Whatever is told of the host, its name in it, can be kept and read again.
        lab.service.hosts().deregister(&lab.caller, host).await.unwrap();
        lab.register(infra_env.id, host.host_id).await.unwrap();
        lab.reply(host, StepType::Inventory, &hostile).await.unwrap();
        let shown = lab.until_host(host, "judged", |host| !host.validations_info.is_empty()).await;
        assert!(shown.inventory.contains("192.168.126.11"));
        let hosts = lab.get_cluster(cluster.id).await.hosts.unwrap();
        assert_eq!((hosts.len(), hosts[0].id), (1, host.host_id));
    }
    assert!(
        lab.event_names(cluster.id).await.iter().filter(|name| *name == "host_deregistered").count() == 7
    );
    let event = json!({
        "name": "\0", "cluster_id": cluster.id, "severity": "info", "message": "\u{1f4a5}\0".repeat(5000),
        "event_time": "2000-01-01T00:00:00Z", "props": "{\"a\":\"\\u0000\"}",
    });
    lab.service.events().trigger(&lab.caller, serde_json::from_value(event).unwrap()).await.unwrap();
    lab.stop().await;
}

/// What no machine has is cut or refused, and holds nobody up.
async fn of_machines_that_cannot_be(database: Database) {
    let lab = Lab::start(&database).await;
    let (first, second) = (lab.single_node().await, lab.single_node().await);
    let infra_env = lab.infra_env(Some(first.id)).await;
    let host = lab.host(infra_env.id).await;
    let mut huge = inventory(1);
    let disk = json!({"drive_type": "FC", "holders": "dm-0", "name": "sdx"});
    huge["disks"].as_array_mut().unwrap().extend(vec![disk; 60_000]);
    let addresses = |net: u32| (0..50_000).map(move |n| format!("10.{net}.{}.{}/32", n / 256, n % 256));
    let mut other = huge["interfaces"][0].clone();
    huge["interfaces"][0]["ipv4_addresses"].as_array_mut().unwrap().extend(addresses(1).map(Value::from));
    (other["name"], other["mac_address"]) = (json!("eth1"), json!("52:54:00:00:01:01"));
    other["ipv4_addresses"] = addresses(2).collect();
    huge["interfaces"].as_array_mut().unwrap().push(other);
    lab.reply(host, StepType::Inventory, &huge).await.unwrap();
    // It may have been judged before it had an inventory.
    let is_judged = |host: &Host| host.validations_info.contains("disks, of which");
    let judged = lab.until_host(host, "judged", is_judged).await;
    let told = "the host has 60001 disks, of which 16384 are kept; the host has 100001 addresses, of which 2048 are kept";
    assert!(judged.validations_info.contains(told), "{}", judged.validations_info);
    let kept: Value = serde_json::from_str(&judged.inventory).unwrap();
    assert_eq!(kept["disks"].as_array().unwrap().len(), 16_384);

    let nothing = format!(r#"{{"disks":[{}]}}"#, vec!["{}"; 500_000].join(","));
    let reply = StepReply { step_type: Some(StepType::Inventory), output: nothing, ..StepReply::default() };
    let (status, why) = refusal(lab.service.hosts().post_step_reply(&lab.caller, host, reply).await);
    assert_eq!(status, RefusalKind::Invalid);
    assert!(why.contains("it has 500001 objects, and no more than 100000 are read"), "{why}");

    let infra_env = lab.infra_env(Some(second.id)).await;
    let well = lab.host(infra_env.id).await;
    lab.report_all(well, 2).await;
    lab.until(well, HostStatus::Known).await;
    lab.stop().await;
}

/// It has nothing more read for a while, and nobody else is kept from anything.
async fn of_a_host_that_never_stops(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let (host, well) = (lab.host(infra_env.id).await, lab.host(infra_env.id).await);
    let hosts = lab.service.hosts();
    let mut taken = 0;
    let refused = loop {
        if let Err(refused) = hosts.ensure_reply_budget(host) {
            break refused;
        }
        let output = format!("{taken}{}", "n".repeat(16 << 20));
        let reply = StepReply { step_type: Some(StepType::Inventory), output, ..StepReply::default() };
        let read = hosts.post_step_reply(&lab.caller, host, reply).await;
        assert_eq!(refusal(read).0, RefusalKind::Invalid);
        taken += 1;
        assert!(taken < 100, "it may go on for ever");
    };
    assert!((4..=6).contains(&taken), "{taken}");
    let Error::Refused(refused) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.kind, RefusalKind::Unavailable);
    let wait = refused.retry_after.unwrap();
    assert!(wait <= Duration::from_secs(16), "{wait:?}");
    hosts.ensure_reply_budget(well).unwrap();
    lab.poll(host).await.unwrap();
    lab.report_all(well, 2).await;
    let has_inventory = |host: &Host| !host.inventory.is_empty();
    lab.until_host(well, "read", has_inventory).await;
    lab.pass(i64::try_from(wait.as_secs()).unwrap() + 1);
    hosts.ensure_reply_budget(host).unwrap();
    lab.report_all(host, 1).await;
    lab.until_host(host, "read", has_inventory).await;
    lab.stop().await;
}

async fn at_the_same_time(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    let rename = |name: String| {
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        let params = serde_json::from_value(json!({"host_name": name})).unwrap();
        tokio::spawn(async move { service.hosts().update(&caller, host, params).await })
    };
    let patch = |name: String| {
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        let params = serde_json::from_value(json!({"tags": name})).unwrap();
        let id = cluster.id;
        tokio::spawn(async move { service.clusters().update(&caller, id, params).await })
    };
    let renames: Vec<_> = (0..10).map(|number| rename(format!("host-{number}"))).collect();
    let patches: Vec<_> = (0..10).map(|number| patch(format!("tag{number}"))).collect();
    lab.report_all(host, 1).await;
    for task in renames {
        task.await.unwrap().unwrap();
    }
    for task in patches {
        task.await.unwrap().unwrap();
    }
    let known = lab.until(host, HostStatus::Known).await;
    assert!(known.requested_hostname.starts_with("host-"));
    assert!(lab.get_cluster(cluster.id).await.tags.starts_with("tag"));
    lab.stop().await;
}

/// Asks again, as clients do, where a busy database keeps it waiting for too long.
async fn until_served<T, F: Future<Output = Result<T, Error>>>(ask: impl Fn() -> F) -> Result<T, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(error) if error.kind() == RefusalKind::Unavailable && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            answer => return answer,
        }
    }
}

/// A rack that is switched on while somebody changes the cluster: nobody is refused for good, nobody waits for ever, and nothing is lost.
async fn hundreds_at_the_same_time(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.cluster(json!({"base_dns_domain": "example.com"})).await.id;
    let infra_env = lab.infra_env(Some(cluster)).await.id;
    let register = |_| {
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        let params = json!({"host_id": HostId::random(), "discovery_agent_version": AGENT});
        let params: HostCreateParams = serde_json::from_value(params).unwrap();
        tokio::spawn(async move {
            let register =
                || async { Box::pin(service.hosts().register(&caller, infra_env, params.clone())).await };
            until_served(register).await
        })
    };
    let patch = |number| {
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        let params: ClusterUpdateParams =
            serde_json::from_value(json!({"tags": format!("tag{number}")})).unwrap();
        tokio::spawn(async move {
            let update =
                || async { Box::pin(service.clusters().update(&caller, cluster, params.clone())).await };
            until_served(update).await
        })
    };
    let registrations: Vec<_> = (0..HUNDREDS).map(register).collect();
    let patches: Vec<_> = (0..50).map(patch).collect();
    for (number, task) in patches.into_iter().enumerate() {
        // Each is answered with what it wrote, whoever came next.
        assert_eq!(task.await.unwrap().unwrap().tags, format!("tag{number}"));
    }
    for task in registrations {
        task.await.unwrap().unwrap();
    }
    let known = lab.get_cluster(cluster).await;
    assert_eq!(known.hosts.unwrap().len(), HUNDREDS);
    assert!(known.tags.starts_with("tag"), "{}", known.tags);
    let names = lab.event_names(cluster).await;
    assert_eq!(names.iter().filter(|name| *name == "host_registration_succeeded").count(), HUNDREDS);
    lab.stop().await;
}

/// An answer that tells nothing new to the old host must not be taken for known by the new one.
async fn while_a_host_begins_anew(database: Database) {
    let mut lab = Lab::start(&database).await;
    let pool = lab.infra_env(None).await;
    let host = lab.host(pool.id).await;
    lab.stop_background().await;
    for round in 0..100 {
        lab.report_all(host, 1).await;
        assert!(!lab.get(host).await.inventory.is_empty(), "round {round}");
        let (service, caller) = (lab.service.clone(), lab.caller.clone());
        let reply = StepReply {
            step_type: Some(StepType::Inventory),
            output: inventory(1).to_string(),
            ..StepReply::default()
        };
        let reply = tokio::spawn(async move { service.hosts().post_step_reply(&caller, host, reply).await });
        lab.register(pool.id, host.host_id).await.unwrap();
        reply.await.unwrap().unwrap();
    }
    lab.stop().await;
}
