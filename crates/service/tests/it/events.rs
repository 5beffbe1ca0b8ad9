//! Events: told by the service and by clients, listed with filters.

use std::time::Duration;

use assisted_config::RateLimits;
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_service::event::ListEvents;
use assisted_service::{Caller, TokenResource};
use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::host::HostStatus;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use serde_json::json;
use uuid::Uuid;

use crate::lab::{Database, Lab, Time, on_both_engines, refusal};

on_both_engines![told_and_listed, with_every_filter, seldom, of_one_resource];

async fn told_and_listed(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.single_node().await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let host = lab.host(infra_env.id).await;
    lab.report_all(host, 1).await;
    lab.until(host, HostStatus::Known).await;
    let event = json!({
        "name": "mine", "cluster_id": cluster.id, "severity": "critical", "message": "100% done",
        "event_time": "2000-01-01T00:00:00Z", "props": "not json",
    });
    lab.service.events().trigger(&lab.caller, serde_json::from_value(event).unwrap()).await.unwrap();

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

async fn with_every_filter(database: Database) {
    let lab = Lab::start(&database).await;
    let cluster = lab.cluster(json!({})).await.id;
    let infra_env = lab.infra_env(Some(cluster)).await.id;
    let (live, gone) = (lab.host(infra_env).await.host_id, lab.host(infra_env).await.host_id);
    let deleted = HostKey { infra_env_id: infra_env, host_id: gone };
    lab.service.hosts().deregister(&lab.caller, deleted).await.unwrap();
    for (name, severity, category, ids) in [
        ("cluster", "info", "user", json!({"cluster_id": cluster})),
        ("live", "error", "user", json!({"cluster_id": cluster, "host_id": live, "infra_env_id": infra_env})),
        (
            "gone",
            "warning",
            "user",
            json!({"cluster_id": cluster, "host_id": gone, "infra_env_id": infra_env}),
        ),
        ("metrics", "info", "metrics", json!({"cluster_id": cluster})),
        ("pool", "info", "user", json!({"infra_env_id": infra_env})),
        ("free", "info", "user", json!({})),
    ] {
        let mut event = json!({
            "name": name, "severity": severity, "category": category, "message": format!("My {name}"),
            "event_time": "2000-01-01T00:00:00Z",
        });
        for (member, id) in ids.as_object().unwrap() {
            event[member] = id.clone();
        }
        lab.service.events().trigger(&lab.caller, serde_json::from_value(event).unwrap()).await.unwrap();
    }
    let own = ["cluster", "live", "gone", "metrics", "pool", "free"];
    let none = ListEvents::default;
    let of_cluster = || ListEvents { cluster_id: Some(cluster), ..none() };
    let of_infra_env = || ListEvents { infra_env_id: Some(infra_env), ..none() };
    let metrics = vec![EventCategory::Metrics];
    let both = vec![EventCategory::Metrics, EventCategory::User];
    for (query, expected) in [
        (none(), &["cluster", "live", "gone", "pool", "free"][..]),
        (of_cluster(), &["cluster", "live", "gone"]),
        (ListEvents { host_ids: Some(vec![live]), ..of_cluster() }, &["live"]),
        (ListEvents { host_id: Some(live), ..of_cluster() }, &["live"]),
        (ListEvents { cluster_level: Some(true), ..of_cluster() }, &["cluster"]),
        (ListEvents { deleted_hosts: Some(true), ..of_cluster() }, &["gone"]),
        (
            ListEvents { deleted_hosts: Some(true), cluster_level: Some(true), ..of_cluster() },
            &["cluster", "gone"],
        ),
        (ListEvents { deleted_hosts: Some(true), host_id: Some(live), ..of_cluster() }, &["live", "gone"]),
        (
            ListEvents { deleted_hosts: Some(false), cluster_level: Some(false), ..of_cluster() },
            &["cluster", "live", "gone"],
        ),
        (ListEvents { message: Some("mY L".to_owned()), ..of_cluster() }, &["live"]),
        (ListEvents { message: Some("%".to_owned()), ..of_cluster() }, &[]),
        (ListEvents { message: Some("y_l".to_owned()), ..of_cluster() }, &[]),
        (ListEvents { message: Some("\\".to_owned()), ..of_cluster() }, &[]),
        (ListEvents { message: Some("\0".to_owned()), ..of_cluster() }, &[]),
        (ListEvents { categories: Some(metrics), ..of_cluster() }, &["metrics"]),
        (ListEvents { categories: Some(both), ..of_cluster() }, &["cluster", "live", "gone", "metrics"]),
        (ListEvents { categories: Some(vec![]), ..of_cluster() }, &[]),
        (
            ListEvents {
                severities: Some(vec![EventSeverity::Warning, EventSeverity::Error]),
                ..of_cluster()
            },
            &["live", "gone"],
        ),
        (
            ListEvents { infra_env_id: Some(InfraEnvId::random()), ..of_cluster() },
            &["cluster", "live", "gone"],
        ),
        (of_infra_env(), &["live", "gone", "pool"]),
        (ListEvents { message: Some("nothing".to_owned()), ..of_infra_env() }, &["live", "gone", "pool"]),
        (ListEvents { host_id: Some(live), ..of_infra_env() }, &["live"]),
        (ListEvents { host_id: Some(live), ..none() }, &["live"]),
        (ListEvents { host_id: Some(gone), ..none() }, &[]),
        (ListEvents { host_ids: Some(vec![live]), host_id: Some(gone), ..none() }, &["live"]),
        (ListEvents { cluster_id: Some(ClusterId::random()), ..none() }, &[]),
        (ListEvents { infra_env_id: Some(InfraEnvId::random()), ..none() }, &[]),
        (ListEvents { host_id: Some(HostId::random()), ..none() }, &[]),
        (ListEvents { limit: Some(-1), offset: Some(-5), ..of_infra_env() }, &["live", "gone", "pool"]),
        (ListEvents { limit: Some(0), ..of_infra_env() }, &[]),
    ] {
        let listed = lab.events(query.clone()).await.events.0;
        let names: Vec<_> =
            listed.iter().map(|event| event.name.as_str()).filter(|name| own.contains(name)).collect();
        assert_eq!(names, expected, "{query:?}");
    }

    // Counts are of all pages, and of all severities; only a cluster's are counted by severity.
    let mine = || ListEvents { message: Some("my ".to_owned()), ..of_cluster() };
    let warnings = ListEvents { severities: Some(vec![EventSeverity::Warning]), limit: Some(0), ..mine() };
    let page = lab.events(warnings).await;
    assert_eq!((page.info, page.warning, page.error, page.critical, page.total), (1, 1, 1, 0, 1));
    let page = lab.events(of_infra_env()).await;
    assert_eq!((page.info, page.warning, page.error, page.critical), (0, 0, 0, 0));
    assert!(page.total > 3);
    let forth = lab.events(mine()).await.events.0;
    let mut back = lab.events(ListEvents { descending: true, ..mine() }).await.events.0;
    back.reverse();
    assert_eq!(forth, back);
    let second = ListEvents { limit: Some(1), offset: Some(1), ..mine() };
    assert_eq!(lab.events(second).await.events.0, forth[1..2]);

    // What is gone keeps its events.
    lab.service.clusters().deregister(&lab.caller, cluster).await.unwrap();
    assert_eq!(lab.events(mine()).await.total, 3);
    lab.stop().await;
}

async fn seldom(database: Database) {
    let limits = RateLimits([("infra_env_deregister_failed".to_owned(), Duration::from_secs(600))].into());
    let lab = Lab::with(&database, Time::default(), |settings| settings.events.rate_limits = limits).await;
    let infra_env = lab.infra_env(None).await;
    lab.host(infra_env.id).await;
    let told = async || {
        assert_eq!(
            refusal(lab.service.infra_envs().deregister(&lab.caller, infra_env.id).await).0,
            RefusalKind::Invalid
        );
        let of_infra_env = ListEvents { infra_env_id: Some(infra_env.id), ..ListEvents::default() };
        let events = lab.events(of_infra_env).await.events.0;
        events.iter().filter(|event| event.name == "infra_env_deregister_failed").count()
    };
    assert_eq!((told().await, told().await), (1, 1));
    lab.pass(600);
    assert_eq!(told().await, 2);
    lab.stop().await;
}

async fn of_one_resource(database: Database) {
    let lab = Lab::start(&database).await;
    let (one, other) = (lab.infra_env(None).await, lab.infra_env(None).await);
    let host: HostKey = lab.host(one.id).await;
    let caller = Caller { resource: Some(TokenResource::InfraEnv(one.id)), ..Caller::admin(Uuid::new_v4()) };
    let list = |query| lab.service.events().list(&caller, query);
    let of = |infra_env_id| ListEvents { infra_env_id: Some(infra_env_id), ..ListEvents::default() };
    assert!(list(of(one.id)).await.unwrap().total > 0);
    assert_eq!(refusal(list(of(other.id)).await), (RefusalKind::NotFound, "Object Not Found".to_owned()));
    assert_eq!(refusal(list(ListEvents::default()).await).0, RefusalKind::NotFound);
    let of_hosts = |ids: &[HostId]| ListEvents { host_ids: Some(ids.to_vec()), ..ListEvents::default() };
    assert!(list(of_hosts(&[host.host_id])).await.unwrap().total > 0);
    assert_eq!(refusal(list(of_hosts(&[host.host_id, HostId::random()])).await).0, RefusalKind::NotFound);
    assert!(lab.service.access().token_generation(TokenResource::InfraEnv(one.id)).await.unwrap().is_some());
    lab.service.infra_envs().deregister(&lab.caller, other.id).await.unwrap();
    assert!(
        lab.service.access().token_generation(TokenResource::InfraEnv(other.id)).await.unwrap().is_none()
    );
    lab.stop().await;
}
