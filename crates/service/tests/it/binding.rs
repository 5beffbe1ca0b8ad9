//! Hosts of a pool join a cluster and leave it.

use assisted_core::model::refusal::RefusalKind;
use assisted_wire::host::{HostKind, HostStatus};
use assisted_wire::host_params::BindHostParams;
use assisted_wire::id::ClusterId;
use assisted_wire::step::PostStepAction;

use crate::lab::{Database, Lab, on_both_engines, refusal};

on_both_engines![bound_and_unbound, a_cluster_leaves_its_hosts_behind];

async fn bound_and_unbound(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let pool = lab.infra_env(None).await;
    let host = lab.host(pool.id).await;
    let params = BindHostParams { cluster_id: cluster.id };
    assert_eq!(
        refusal(lab.service.hosts().bind(&lab.caller, host, params.clone()).await).0,
        RefusalKind::Internal
    );
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::KnownUnbound).await;

    let nowhere = BindHostParams { cluster_id: ClusterId::random() };
    let (kind, text) = refusal(lab.service.hosts().bind(&lab.caller, host, nowhere.clone()).await);
    assert_eq!(
        (kind, text),
        (RefusalKind::Invalid, format!("Failed to find cluster {}", nowhere.cluster_id))
    );
    let bound = lab.service.hosts().bind(&lab.caller, host, params.clone()).await.unwrap();
    assert_eq!((bound.status, bound.cluster_id), (HostStatus::Binding, Some(cluster.id)));
    assert!(bound.inventory.is_empty());
    assert_eq!(lab.get_cluster(cluster.id).await.total_host_count, 1);
    assert_eq!(refusal(lab.service.hosts().bind(&lab.caller, host, params).await).0, RefusalKind::Conflict);
    let told = lab.poll(host).await.unwrap();
    assert_eq!((told.post_step_action, told.next_instruction_seconds), (Some(PostStepAction::Exit), 0));

    lab.register(pool.id, host.host_id).await.unwrap();
    assert_eq!(lab.get(host).await.status, HostStatus::Discovering);
    lab.report_all(host, 1).await;
    lab.until_host(host, "judged", |host| host.status != HostStatus::Discovering).await;

    let unbound = lab.service.hosts().unbind(&lab.caller, host).await.unwrap();
    assert_eq!(
        (unbound.status, unbound.cluster_id, unbound.kind),
        (HostStatus::Unbinding, None, HostKind::Host)
    );
    assert_eq!(lab.get_cluster(cluster.id).await.total_host_count, 0);
    assert_eq!(lab.poll(host).await.unwrap().post_step_action, Some(PostStepAction::Exit));
    assert_eq!(refusal(lab.service.hosts().unbind(&lab.caller, host).await).0, RefusalKind::Conflict);
    lab.register(pool.id, host.host_id).await.unwrap();
    assert_eq!(lab.get(host).await.status, HostStatus::DiscoveringUnbound);
    let names = lab.event_names(cluster.id).await;
    assert!(names.iter().any(|name| name == "host_bind_succeeded"), "{names:?}");
    lab.stop().await;
}

async fn a_cluster_leaves_its_hosts_behind(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.cluster(serde_json::json!({})).await;
    let (own, pool) = (lab.infra_env(Some(cluster.id)).await, lab.infra_env(None).await);
    let stays = lab.host(own.id).await;
    let (leaves, joins) = (lab.host(pool.id).await, lab.host(pool.id).await);
    for host in [leaves, joins] {
        lab.report_all(host, 2).await;
        lab.until(host, HostStatus::KnownUnbound).await;
        let params = BindHostParams { cluster_id: cluster.id };
        lab.service.hosts().bind(&lab.caller, host, params).await.unwrap();
    }
    lab.register(pool.id, leaves.host_id).await.unwrap();
    let (kind, text) = refusal(lab.service.hosts().unbind(&lab.caller, stays).await);
    let expected = format!(
        "Cannot unbind Host {}. InfraEnv {} is bound to Cluster {}",
        stays.host_id, own.id, cluster.id
    );
    assert_eq!((kind, text), (RefusalKind::Conflict, expected));

    lab.service.clusters().deregister(&lab.caller, cluster.id).await.unwrap();
    assert_eq!(refusal(lab.service.hosts().get(&lab.caller, stays).await).0, RefusalKind::NotFound);
    let left = lab.get(leaves).await;
    assert_eq!((left.status, left.cluster_id), (HostStatus::Unbinding, None));
    // No rule leads out of binding but a new registration: it begins anew, in its pool.
    assert_eq!(refusal(lab.service.hosts().get(&lab.caller, joins).await).0, RefusalKind::NotFound);
    lab.register(pool.id, joins.host_id).await.unwrap();
    assert_eq!(lab.get(joins).await.status, HostStatus::DiscoveringUnbound);
    lab.stop().await;
}
