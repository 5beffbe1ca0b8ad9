//! Events: told by the service and by clients, listed with filters.

use assisted_core::host::record::HostKey;
use assisted_service::event::ListEvents;
use assisted_service::{Caller, TokenResource};
use assisted_wire::event::EventSeverity;
use assisted_wire::host::HostStatus;
use assisted_wire::id::HostId;
use serde_json::json;
use uuid::Uuid;

use crate::lab::{Database, Lab, on_both_engines, refusal};

on_both_engines![told_and_listed, of_one_resource];

async fn told_and_listed(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.tell_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    let event = json!({
        "name": "mine", "cluster_id": cluster.id, "severity": "critical", "message": "100% done",
        "event_time": "2000-01-01T00:00:00Z", "props": "not json",
    });
    lab.service.trigger_event(&lab.caller, serde_json::from_value(event).unwrap()).await.unwrap();

    let of_cluster = || ListEvents { cluster_id: Some(cluster.id), ..ListEvents::default() };
    let all = lab.events(of_cluster()).await;
    assert_eq!(all.total, all.events.0.len() as u64);
    assert_eq!(all.info + all.warning + all.error + all.critical, all.total);
    assert_eq!(all.critical, 1);
    let mine = lab.events(ListEvents { message: Some("0% D".to_owned()), ..of_cluster() }).await.events.0;
    assert_eq!((mine.len(), mine[0].props.as_str(), mine[0].event_time.0), (1, "", lab.time.now()));
    assert_eq!((mine[0].category, mine[0].request_id), (None, None));
    let page = ListEvents { limit: Some(1), descending: true, ..of_cluster() };
    let page = lab.events(page).await;
    assert_eq!((page.events.0.len(), page.total), (1, all.total));
    assert!(lab.events(ListEvents { limit: Some(0), ..of_cluster() }).await.events.0.is_empty());
    let severe = ListEvents { severities: Some(vec![EventSeverity::Critical]), ..of_cluster() };
    assert_eq!(lab.events(severe).await.total, 1);
    let of_host = ListEvents { host_id: Some(host.host_id), ..ListEvents::default() };
    assert!(lab.events(of_host).await.events.0.iter().all(|event| event.host_id == Some(host.host_id)));
    lab.stop().await;
}

async fn of_one_resource(database: Database) {
    let lab = Lab::start(&database).await;
    let (one, other) = (lab.infra_env(None).await, lab.infra_env(None).await);
    let host: HostKey = lab.host(one.id).await;
    let caller = Caller { resource: Some(TokenResource::InfraEnv(one.id)), ..Caller::admin(Uuid::new_v4()) };
    let list = |query| lab.service.list_events(&caller, query);
    let of = |infra_env_id| ListEvents { infra_env_id: Some(infra_env_id), ..ListEvents::default() };
    assert!(list(of(one.id)).await.unwrap().total > 0);
    assert_eq!(refusal(list(of(other.id)).await), (404, "Object Not Found".to_owned()));
    assert_eq!(refusal(list(ListEvents::default()).await).0, 404);
    let of_hosts = |ids: &[HostId]| ListEvents { host_ids: Some(ids.to_vec()), ..ListEvents::default() };
    assert!(list(of_hosts(&[host.host_id])).await.unwrap().total > 0);
    assert_eq!(refusal(list(of_hosts(&[host.host_id, HostId::random()])).await).0, 404);
    assert!(lab.service.resource_exists(TokenResource::InfraEnv(one.id)).await.unwrap());
    lab.service.deregister_infra_env(&lab.caller, other.id).await.unwrap();
    assert!(!lab.service.resource_exists(TokenResource::InfraEnv(other.id)).await.unwrap());
    lab.stop().await;
}
