//! What is cached of the database is forgotten with each commit, whoever makes it.

use std::collections::BTreeMap;

use assisted_store::Batch;
use assisted_wire::step::StepType;
use serde_json::json;

use crate::lab::{Database, Lab, eventually, on_both_engines};

on_both_engines! {
    a_commit_past_the_use_cases, hosts_of_a_cluster_hear_of_each_other, nothing_stays_of_what_is_gone,
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
