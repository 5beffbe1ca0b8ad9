//! From nothing to a cluster that is ready, and back.

use assisted_core::model::refusal::RefusalKind;
use assisted_service::cluster::{ListClusterHosts, ListClusters};
use assisted_service::infra_env::ListInfraEnvs;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::step::StepType;
use serde_json::json;

use crate::lab::{Database, Lab, inventory, on_both_engines, refusal};

on_both_engines![a_single_node, registered_again, updates_show_at_once, restarts];

async fn a_single_node(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    assert_eq!((cluster.status, cluster.total_host_count), (ClusterStatus::Insufficient, 0));
    assert_eq!((cluster.hosts.as_deref(), cluster.host_networks.as_deref()), (Some(&[][..]), Some(&[][..])));
    assert!(cluster.pull_secret_set);
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    assert_eq!(
        infra_env.download_url,
        format!(
            "https://images.example.com/byid/{}/{}/x86_64/full.iso",
            infra_env.id, infra_env.openshift_version
        )
    );

    let host = lab.host(infra_env.id).await;
    let shown = lab.get(host).await;
    assert_eq!(
        (shown.status, shown.role, shown.bootstrap),
        (HostStatus::Discovering, Some(HostRole::Master), true)
    );
    assert_eq!(lab.steps(host).await, [StepType::Inventory]);
    lab.reply(host, StepType::Inventory, &inventory(1)).await.unwrap();
    let shown = lab.until_host(host, "discovered", |host| host.status != HostStatus::Discovering).await;
    assert_eq!(
        (shown.requested_hostname.as_str(), shown.installation_disk_path.as_str()),
        ("node-1", "/dev/sda")
    );
    assert!(shown.inventory.contains("52:54:00:00:00:01"));
    assert!(lab.steps(host).await.contains(&StepType::NtpSynchronizer));

    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    let ready =
        lab.until_cluster(cluster.id, "ready", |cluster| cluster.status == ClusterStatus::Ready).await;
    assert_eq!((ready.total_host_count, ready.ready_host_count, ready.enabled_host_count), (1, 1, 1));
    assert_eq!(ready.host_networks.unwrap()[0].cidr, "192.168.126.0/24");
    let hosts = ready.hosts.unwrap();
    assert!(!hosts[0].progress_stages.as_ref().unwrap().is_empty());

    let names = lab.event_names(cluster.id).await;
    for name in ["cluster_registration_succeeded", "host_registration_succeeded", "cluster_status_updated"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }

    // Lists.
    let list = |with_hosts| ListClusters { with_hosts, ..ListClusters::default() };
    let listed = lab.service.clusters().list(&lab.caller, list(false)).await.unwrap();
    assert_eq!((listed.0[0].total_host_count, listed.0[0].hosts.as_deref()), (1, Some(&[][..])));
    let listed = lab.service.clusters().list(&lab.caller, list(true)).await.unwrap();
    assert_eq!(listed.0[0].hosts.as_ref().unwrap()[0].progress_stages, None);
    let of_cluster = |role, with_inventory| ListClusterHosts {
        cluster_id: cluster.id,
        role,
        status: None,
        with_inventory,
        with_connectivity: false,
    };
    let masters = of_cluster(Some(HostRole::Master), true);
    let masters = lab.service.clusters().list_hosts(&lab.caller, masters).await.unwrap();
    assert!(!masters.0[0].inventory.is_empty());
    let workers = of_cluster(Some(HostRole::Worker), false);
    assert!(lab.service.clusters().list_hosts(&lab.caller, workers).await.unwrap().0.is_empty());

    // And back.
    let (kind, text) = refusal(lab.service.infra_envs().deregister(&lab.caller, infra_env.id).await);
    assert_eq!(kind, RefusalKind::Invalid, "{text}");
    assert_eq!(text, format!("failed to deregister infraEnv {}, 1 hosts are still associated", infra_env.id));
    lab.service.clusters().deregister(&lab.caller, cluster.id).await.unwrap();
    assert_eq!(refusal(lab.service.hosts().get(&lab.caller, host).await).0, RefusalKind::NotFound);
    assert_eq!(refusal(lab.poll(host).await).0, RefusalKind::NotFound);
    assert_eq!(
        refusal(lab.service.clusters().deregister(&lab.caller, cluster.id).await).0,
        RefusalKind::NotFound
    );
    let deleted =
        ListClusters { get_unregistered_clusters: true, with_hosts: true, ..ListClusters::default() };
    let deleted = lab.service.clusters().list(&lab.caller, deleted).await.unwrap();
    assert!(
        deleted.0[0].deleted_at.is_some() && deleted.0[0].hosts.as_ref().unwrap()[0].deleted_at.is_some()
    );
    assert!(lab.service.clusters().list(&lab.caller, list(true)).await.unwrap().0.is_empty());
    lab.service.infra_envs().deregister(&lab.caller, infra_env.id).await.unwrap();
    assert!(lab.service.infra_envs().list(&lab.caller, ListInfraEnvs::default()).await.unwrap().0.is_empty());
    lab.stop().await;
}

async fn registered_again(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;

    let response = lab.register(infra_env.id, host.host_id).await.unwrap();
    assert!(response.next_step_runner_command.is_some());
    let again = lab.get(host).await;
    assert_eq!(again.status, HostStatus::Discovering);
    assert!(again.inventory.is_empty() && again.ntp_sources.is_empty());
    assert_eq!(again.installation_disk_path, "/dev/sda");
    assert_eq!(lab.steps(host).await, [StepType::Inventory]);

    // A host that was removed registers as if it had never been there.
    lab.service.hosts().deregister(&lab.caller, host).await.unwrap();
    assert_eq!(lab.get_cluster(cluster.id).await.total_host_count, 0);
    assert_eq!(refusal(lab.service.hosts().deregister(&lab.caller, host).await).0, RefusalKind::Internal);
    lab.register(infra_env.id, host.host_id).await.unwrap();
    let anew = lab.get(host).await;
    assert_eq!((anew.status, anew.installation_disk_path.as_str()), (HostStatus::Discovering, ""));
    let names = lab.event_names(cluster.id).await;
    assert_eq!(names.iter().filter(|name| *name == "host_registration_succeeded").count(), 2);
    lab.stop().await;
}

async fn updates_show_at_once(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;

    let rename = |name: &str| serde_json::from_value(json!({"host_name": name})).unwrap();
    let named = lab.service.hosts().update(&lab.caller, host, rename("better")).await.unwrap();
    assert_eq!((named.requested_hostname.as_str(), named.status), ("better", HostStatus::Known));
    let (kind, _) = refusal(lab.service.hosts().update(&lab.caller, host, rename("localhost")).await);
    assert_eq!(kind, RefusalKind::Invalid);
    assert_eq!(lab.get(host).await.requested_hostname, "better");

    lab.until_cluster(cluster.id, "ready", |cluster| cluster.status == ClusterStatus::Ready).await;
    let patch = |params| serde_json::from_value(params).unwrap();
    let without = patch(json!({"base_dns_domain": ""}));
    let changed = lab.service.clusters().update(&lab.caller, cluster.id, without).await.unwrap();
    assert_ne!(changed.status, ClusterStatus::Ready, "{}", changed.status_info);
    let with = patch(json!({"base_dns_domain": "example.com", "additional_ntp_source": "10.0.0.1"}));
    let changed = lab.service.clusters().update(&lab.caller, cluster.id, with).await.unwrap();
    assert_eq!(changed.additional_ntp_source, "10.0.0.1");
    // The host is told of the new source at its very next poll.
    let steps = lab.poll(host).await.unwrap().instructions.unwrap();
    let ntp = steps.iter().find(|step| step.step_type == Some(StepType::NtpSynchronizer)).unwrap();
    assert!(ntp.args.as_ref().unwrap()[0].contains("10.0.0.1"));
    lab.stop().await;
}

async fn restarts(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    lab.pass(60);
    lab.poll(host).await.unwrap();
    let (before, time) = (lab.get(host).await, lab.time.clone());
    let events = lab.event_names(cluster.id).await;
    lab.stop().await;

    let lab = Lab::at(&database, time.clone()).await;
    let after = lab.get(host).await;
    assert_eq!(after.checked_in_at.0, time.now());
    assert_eq!(after, before);
    assert!(lab.event_names(cluster.id).await.starts_with(&events));
    // What waits for the clock goes on waiting; the bootstrap host may be silent for five minutes.
    lab.pass(301);
    lab.until(host, HostStatus::Disconnected).await;
    lab.stop().await;
}
