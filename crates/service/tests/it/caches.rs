//! What is cached of the database is forgotten with each commit, whoever makes it.

use std::collections::BTreeMap;

use assisted_store::Batch;
use assisted_wire::step::StepType;
use serde_json::json;

use crate::lab::{Database, Lab, eventually, inventory, on_both_engines};

on_both_engines! {
    a_commit_past_the_use_cases, hosts_of_a_cluster_hear_of_each_other, nothing_stays_of_what_is_gone,
    hosts_that_passed_are_judged_anew_when_they_change,
}

/// A writer that knows nothing of the service writes to its store.
async fn a_commit_past_the_use_cases(database: Database) {
    let lab = Lab::start(&database).await;
    let infra_env = lab.infra_env(None).await;
    let name = async || {
        let found = lab.service.infra_envs().get(&lab.caller, infra_env.id).await.unwrap();
        found.name
    };
    // The second reading is answered by the cache.
    assert_eq!((name().await, name().await), (infra_env.name.clone(), infra_env.name.clone()));
    let mut stored = lab.store.infra_env(infra_env.id).await.unwrap().unwrap();
    stored.record.infra_env.name = "renamed".to_owned();
    let mut batch = Batch::new();
    batch.update_infra_env(&stored.record, stored.version);
    lab.store.write(batch).await.unwrap();
    assert_eq!(name().await, "renamed");
    lab.stop().await;
}

/// The view of a host is cached; that another host reports its addresses changes it at once.
async fn hosts_of_a_cluster_hear_of_each_other(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.cluster(json!({"base_dns_domain": "example.com"})).await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let (one, other) = (lab.host(infra_env.id).await, lab.host(infra_env.id).await);
    lab.report_all(one, 1).await;
    let told_of_other = async || {
        let steps = lab.poll(one).await.unwrap().instructions.unwrap();
        let mut checks = steps.iter().filter(|step| step.step_type == Some(StepType::ConnectivityCheck));
        checks.any(|step| step.args.iter().flatten().any(|arg| arg.contains(&other.host_id.to_string())))
    };
    assert!(!told_of_other().await, "nothing is known of its addresses");
    lab.report_all(other, 2).await;
    eventually("told of the other", async || told_of_other().await.then_some(()).ok_or(String::new())).await;
    lab.stop().await;
}

/// How many entries each cache has.
async fn entries(lab: &Lab) -> BTreeMap<String, u64> {
    let text = String::from_utf8(lab.service.metrics().text().await.unwrap()).unwrap();
    let of_caches = text.lines().filter_map(|line| line.strip_prefix("assisted_cache_entries{cache=\""));
    let read = |(cache, count): (&str, &str)| (cache.to_owned(), count.parse().unwrap());
    of_caches.map(|line| read(line.split_once("\"} ").unwrap())).collect()
}

/// What is cached of a cluster, its infra-env and its hosts goes with them.
async fn nothing_stays_of_what_is_gone(database: Database) {
    let mut lab = Lab::start(&database).await;
    // A look at the cluster that ends just after that notes once more when its hosts were heard.
    lab.stop_background().await;
    let cluster = lab.cluster(json!({"base_dns_domain": "example.com"})).await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let hosts = [lab.host(infra_env.id).await, lab.host(infra_env.id).await];
    for (number, host) in (1..).zip(hosts) {
        lab.report_all(host, number).await;
    }
    for host in hosts {
        lab.poll(host).await.unwrap();
    }
    let held = entries(&lab).await;
    assert!(held.len() == 5 && held.values().all(|count| *count > 0), "{held:?}");
    lab.service.clusters().deregister(&lab.caller, cluster.id).await.unwrap();
    lab.service.infra_envs().deregister(&lab.caller, infra_env.id).await.unwrap();
    let held = entries(&lab).await;
    assert!(held.len() == 5 && held.values().all(|count| *count == 0), "{held:?}");
    lab.stop().await;
}

/// In a large cluster, the validations of hosts that pass run again when what they read has changed: a report is stored without a
/// new version of its host.
async fn hosts_that_passed_are_judged_anew_when_they_change(database: Database) {
    const HOSTS: u8 = 32;
    let lab = Lab::start(&database).await;
    let vips = json!({"api_vips": [{"ip": "192.168.126.100"}], "ingress_vips": [{"ip": "192.168.126.101"}]});
    let cluster = lab.cluster(vips).await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let mut hosts = Vec::new();
    for number in 1..=HOSTS {
        let host = lab.host(infra_env.id).await;
        lab.report_all(host, number).await;
        hosts.push(host);
    }
    lab.meet(&hosts).await;
    for round in 1..=3 {
        for (host, number) in [(hosts[3], 4), (hosts[30], 31)] {
            let mut poor = inventory(number);
            poor["memory"] = json!({"physical_bytes": 1 << 30, "usable_bytes": 1 << 30});
            lab.reply(host, StepType::Inventory, &poor).await.unwrap();
            lab.until_host(host, &format!("too little memory, round {round}"), |host| {
                host.validations_info.contains("minimum required RAM")
            })
            .await;
        }
        for (host, number) in [(hosts[3], 4), (hosts[30], 31)] {
            lab.reply(host, StepType::Inventory, &inventory(number)).await.unwrap();
            lab.until_host(host, &format!("enough memory, round {round}"), |host| {
                host.validations_info.contains("Sufficient minimum RAM")
            })
            .await;
        }
    }
    let text = String::from_utf8(lab.service.metrics().text().await.unwrap()).unwrap();
    let held =
        text.lines().find_map(|line| line.strip_prefix("assisted_cache_bytes{cache=\"passed_hosts\"} "));
    let held: usize = held.unwrap().parse().unwrap();
    assert!(held > 128 * usize::from(HOSTS) / 2, "hosts that pass are known: {held}");
    lab.stop().await;
}
