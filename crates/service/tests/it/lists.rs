//! Lists with every filter that they have.

use assisted_service::cluster::{GetCluster, ListClusterHosts, ListClusters};
use assisted_service::infra_env::ListInfraEnvs;
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::id::ClusterId;
use serde_json::json;
use uuid::Uuid;

use crate::lab::{Database, Lab, on_both_engines};

on_both_engines![of_clusters, of_a_clusters_hosts, of_infra_envs];

async fn of_clusters(database: Database) {
    let lab = Lab::start(&database).await;
    let installed = Uuid::new_v4();
    let params =
        json!({"name": "i", "api_vip_dnsname": "api.i.example.com", "openshift_cluster_id": installed});
    let params = serde_json::from_value(params).unwrap();
    let imported = lab.service.clusters().import(&lab.caller, params).await.unwrap();
    assert_eq!(imported.status_info, "cluster is adding hosts to existing OCP cluster");
    let (own, gone) = (lab.single_node().await, lab.cluster(json!({})).await);
    let infra_env = lab.infra_env(Some(own.id)).await;
    lab.host(infra_env.id).await;
    lab.service.clusters().deregister(&lab.caller, gone.id).await.unwrap();

    let all = || vec![imported.id, own.id];
    let subscriptions = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect());
    for (query, mut expected) in [
        (ListClusters::default(), all()),
        (
            ListClusters { get_unregistered_clusters: true, ..Default::default() },
            vec![imported.id, own.id, gone.id],
        ),
        (ListClusters { openshift_cluster_id: Some(installed), ..Default::default() }, vec![imported.id]),
        (ListClusters { openshift_cluster_id: Some(Uuid::new_v4()), ..Default::default() }, vec![]),
        (
            ListClusters {
                ams_subscription_ids: subscriptions(&[&Uuid::new_v4().to_string()]),
                ..Default::default()
            },
            vec![],
        ),
        (ListClusters { ams_subscription_ids: subscriptions(&["x"]), ..Default::default() }, vec![]),
        // Without accounts everything is everybody's.
        (ListClusters { owner: Some("somebody".to_owned()), ..Default::default() }, all()),
    ] {
        let listed = lab.service.clusters().list(&lab.caller, query.clone()).await.unwrap();
        let mut ids: Vec<_> = listed.0.iter().map(|cluster| cluster.id).collect();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected, "{query:?}");
        for cluster in listed.0 {
            assert_eq!((cluster.host_networks, cluster.operator_bundles), (None, None));
            let hosts = i64::from(cluster.id == own.id);
            assert_eq!((cluster.hosts, cluster.total_host_count), (Some(vec![]), hosts));
        }
    }

    // With their hosts, each cluster its own.
    let other = lab.host(lab.infra_env(Some(imported.id)).await.id).await;
    let with_hosts = ListClusters { with_hosts: true, ..Default::default() };
    for cluster in lab.service.clusters().list(&lab.caller, with_hosts).await.unwrap().0 {
        let hosts = cluster.hosts.unwrap();
        assert_eq!((hosts.len(), cluster.total_host_count, cluster.ready_host_count), (1, 1, 0));
        assert_eq!(hosts[0].cluster_id, Some(cluster.id));
        assert_eq!(hosts[0].id == other.host_id, cluster.id == imported.id);
        assert_eq!(hosts[0].progress_stages, None);
    }

    let without = GetCluster { cluster_id: own.id, get_unregistered_clusters: false, exclude_hosts: true };
    let shown = lab.service.clusters().get(&lab.caller, without).await.unwrap();
    assert_eq!((shown.hosts, shown.total_host_count, shown.host_networks), (None, 0, Some(vec![])));
    let deleted = GetCluster { cluster_id: gone.id, get_unregistered_clusters: true, exclude_hosts: false };
    assert!(lab.service.clusters().get(&lab.caller, deleted).await.unwrap().deleted_at.is_some());
    lab.stop().await;
}

async fn of_a_clusters_hosts(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    let all = || ListClusterHosts {
        cluster_id: cluster.id,
        role: None,
        status: None,
        with_inventory: false,
        with_connectivity: false,
    };
    for (query, count) in [
        (all(), 1),
        (ListClusterHosts { role: Some(HostRole::Master), ..all() }, 1),
        (ListClusterHosts { role: Some(HostRole::Worker), ..all() }, 0),
        (ListClusterHosts { status: Some("known".to_owned()), ..all() }, 1),
        (ListClusterHosts { status: Some("installed".to_owned()), ..all() }, 0),
        (ListClusterHosts { status: Some("nonsense".to_owned()), ..all() }, 0),
        (ListClusterHosts { with_inventory: true, with_connectivity: true, ..all() }, 1),
        (ListClusterHosts { cluster_id: ClusterId::random(), ..all() }, 0),
    ] {
        let listed = lab.service.clusters().list_hosts(&lab.caller, query.clone()).await.unwrap().0;
        assert_eq!(listed.len(), count, "{query:?}");
        for shown in listed {
            assert_eq!(shown.inventory.is_empty(), !query.with_inventory);
            assert_eq!((shown.progress_stages, shown.free_addresses.as_str()), (None, ""));
        }
    }
    lab.stop().await;
}

async fn of_infra_envs(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.cluster(json!({})).await;
    let (bound, pool) = (lab.infra_env(Some(cluster.id)).await, lab.infra_env(None).await);
    for (cluster_id, mut expected) in [
        (None, vec![bound.id, pool.id]),
        (Some(cluster.id), vec![bound.id]),
        (Some(ClusterId::random()), vec![]),
    ] {
        let query = ListInfraEnvs { cluster_id, owner: None };
        let listed = lab.service.infra_envs().list(&lab.caller, query).await.unwrap();
        let mut ids: Vec<_> = listed.0.iter().map(|infra_env| infra_env.id).collect();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
    }
    lab.stop().await;
}
