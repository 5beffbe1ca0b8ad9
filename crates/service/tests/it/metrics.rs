//! What a whole installation is counted and timed as, and the events that it leaves for machines.

use std::time::Duration;

use assisted_service::event::ListEvents;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::event::EventCategory;
use assisted_wire::host::HostStatus;
use assisted_wire::inventory::SystemVendor;
use assisted_wire::step::StepType;
use serde_json::{Value, json};

use crate::lab::{Database, Lab, Time, eventually, inventory, on_one_engine};

on_one_engine![
    an_installation,
    a_cluster_that_is_given_up,
    validations_that_hold_no_more,
    decisions_that_take_long
];

impl Lab {
    /// The value of a line of the metrics, which begins with a name and its labels.
    pub async fn metric(&self, line: &str) -> Option<f64> {
        let text = String::from_utf8(self.service.metrics().text().await.unwrap()).unwrap();
        let wanted = format!("service_assisted_installer_{line} ");
        let value = text.lines().find_map(|line| line.strip_prefix(wanted.as_str()))?;
        Some(value.parse().unwrap())
    }

    /// Kinds and facts of the events for machines.
    pub async fn measured_events(&self, query: ListEvents) -> Vec<(String, Value)> {
        let query = ListEvents { categories: Some(vec![EventCategory::Metrics]), ..query };
        let page = self.service.events().list(&self.caller, query).await.unwrap();
        let read = |event: assisted_wire::event::Event| {
            assert!(event.name.is_empty() && event.infra_env_id.is_none(), "{event:?}");
            (event.message, serde_json::from_str(&event.props).unwrap())
        };
        page.events.0.into_iter().map(read).collect()
    }
}

async fn an_installation(database: Database) {
    let lab = Lab::simulating(&database).await;
    let ready = lab.installed().await;
    for (line, expected) in [
        ("cluster_creations", 1.0),
        ("cluster_installation_started", 1.0),
        (r#"cluster_installation_seconds_count{result="installed"}"#, 1.0),
        (r#"cluster_hosts{result="Done",role="master"}"#, 2.0),
        (r#"cluster_hosts{result="Done",role="bootstrap"}"#, 1.0),
        (r#"cluster_host_cores_count{result="Done",role="master"}"#, 2.0),
        (r#"host_installation_phase_seconds_count{phase="Rebooting",result="Done"}"#, 3.0),
        (r#"cluster_image_pull_status_count{imageName="quay.io/release",result="success"}"#, 3.0),
        ("cluster_host_disk_sync_duration_ms_count", 3.0),
    ] {
        assert_eq!(lab.metric(line).await, Some(expected), "{line}");
    }
    for line in ["monitored_clusters_duration_ms_count", "monitored_hosts_duration_ms_count"] {
        assert!(lab.metric(line).await.is_some_and(|count| count >= 1.0), "{line}");
    }

    let of_cluster = ListEvents { cluster_id: Some(ready.id), ..ListEvents::default() };
    let events = lab.measured_events(of_cluster.clone()).await;
    let count = |kind: &str| events.iter().filter(|(message, _)| message == kind).count();
    assert_eq!(count("cluster.installation.results"), 1, "{events:?}");
    assert_eq!((count("host.mem.cpu"), count("nic.physical_interfaces")), (3, 3));
    assert_eq!((count("disk.size.type"), count("nic.speed"), count("nic.virtual_interfaces")), (3, 3, 3));
    let (_, results) = events.iter().find(|(kind, _)| kind == "cluster.installation.results").unwrap();
    assert_eq!((&results["result"], &results["lastState"]), (&"installed".into(), &"finalizing".into()));
    let (_, stage) = events.iter().find(|(kind, _)| kind == "host.stage.duration").unwrap();
    assert_eq!((&stage["result"], &stage["host_stage"]), (&"Done".into(), &"Starting installation".into()));
    let (vendor, product) = ("Maker", SystemVendor::SIMULATED_PRODUCT);
    let machine = (&stage["vendor"], &stage["product"], &stage["disk_type"]);
    assert_eq!(machine, (&json!(vendor), &json!(product), &json!("HDD")), "{stage}");
    assert!([json!("bootstrap"), json!("master")].contains(&stage["host_role"]), "{stage}");
    // What each of them is made of; sizes are in GiB.
    for (kind, expected) in [
        ("host.mem.cpu", json!({"mem_bytes": 32, "core_count": 16})),
        ("disk.size.type", json!({"disk_type": "HDD", "disk_size": 120})),
        ("nic.speed", json!({"nic_speed": 0})),
    ] {
        let found: Vec<_> = events.iter().filter(|(message, _)| message == kind).collect();
        for (role, times) in [("bootstrap", 1), ("master", 2)] {
            let mut expected = expected.clone();
            expected["host_role"] = json!(role);
            expected["host_result"] = json!("Done");
            let same = found.iter().filter(|(_, facts)| *facts == expected).count();
            assert_eq!(same, times, "{kind} of {role}: {found:?}");
        }
    }
    // They are not for people.
    let shown = lab.service.events().list(&lab.caller, of_cluster).await.unwrap();
    assert!(shown.events.0.iter().all(|event| !event.name.is_empty()));
    lab.stop().await;
}

async fn a_cluster_that_is_given_up(database: Database) {
    let lab = Lab::simulating(&database).await;
    let cluster = lab.cluster(json!({"base_dns_domain": "example.com"})).await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.poll(host).await.unwrap();
    lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    lab.until_cluster(cluster.id, "judged", |cluster| cluster.validations_info.contains("failure")).await;
    lab.until_host(host, "judged", |host| host.validations_info.contains("failure")).await;
    lab.service.clusters().deregister(&lab.caller, cluster.id).await.unwrap();
    let line = r#"cluster_validation_is_in_failed_status_on_cluster_deletion{clusterValidationType="sufficient-masters-count"}"#;
    assert_eq!(lab.metric(line).await, Some(1.0));
    // Those of its host count as well.
    let line = r#"host_validation_is_in_failed_status_on_cluster_deletion{hostValidationType="ntp-synced"}"#;
    assert_eq!(lab.metric(line).await, Some(1.0));
    lab.stop().await;
}

/// A host that was known falls silent: it is connected no more, and not all hosts of its cluster are ready.
async fn validations_that_hold_no_more(database: Database) {
    let lab = Lab::simulating(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until_status(cluster.id, ClusterStatus::Ready).await;
    let lines = [
        r#"host_validation_failed_after_success_before_installation{hostValidationType="connected"}"#,
        r#"cluster_validation_failed_after_success_before_installation{clusterValidationType="all-hosts-are-ready-to-install"}"#,
    ];
    let mut before = Vec::new();
    for line in lines {
        before.push(lab.metric(line).await.unwrap_or_default());
    }
    lab.pass(301);
    lab.until(host, HostStatus::Disconnected).await;
    for (line, before) in lines.into_iter().zip(before) {
        eventually(line, async || {
            let found = lab.metric(line).await;
            if found == Some(before + 1.0) { Ok(()) } else { Err(format!("{found:?} after {before}")) }
        })
        .await;
    }
    lab.stop().await;
}

/// Where the limits are nothing, each decision takes too long: that about a cluster, and that about a host that no cluster has.
async fn decisions_that_take_long(database: Database) {
    let lab = Lab::with(&database, Time::default(), |settings| {
        settings.events.slow_cluster = Duration::ZERO;
        settings.events.slow_host = Duration::ZERO;
    })
    .await;
    let cluster = lab.single_node().await.id;
    let (bound, free) = (lab.infra_env(Some(cluster)).await, lab.infra_env(None).await);
    lab.host(bound.id).await;
    let host = lab.host(free.id).await.host_id;
    let of_cluster = ListEvents { cluster_id: Some(cluster), ..ListEvents::default() };
    let of_host = ListEvents { host_id: Some(host), ..ListEvents::default() };
    for (kind, query) in [("cluster_monitor.slow_cluster", of_cluster), ("host_monitor.slow_host", of_host)] {
        let facts = eventually(kind, async || {
            // Hosts that are silent are looked at again.
            lab.pass_at_rest(60).await;
            let events = lab.measured_events(query.clone()).await;
            let found = events.iter().find(|(message, _)| message == kind);
            found.map(|(_, facts)| facts.clone()).ok_or_else(|| format!("{events:?}"))
        })
        .await;
        assert!(facts["duration"].is_u64(), "{kind}: {facts}");
    }
    lab.stop().await;
}
