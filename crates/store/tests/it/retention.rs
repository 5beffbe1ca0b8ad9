//! What has been kept long enough: found in bounded pieces, and deleted with all that belongs to it.

use assisted_core::model::action::Action;
use assisted_core::model::event::NewEvent;
use assisted_core::model::report::ReportKind;
use assisted_store::{Batch, Deleted, EventQuery, HostRow, Store, Version, WriteError};
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::event::{EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::time::DateTime;

use crate::support::{self, Database, at, on_both};

on_both! {
    inactive_clusters_are_found_longest_first,
    deregistered_clusters_are_found_once,
    deregistered_hosts_are_purged_unless_they_come_back,
    infra_envs_in_use_are_not_found,
    events_of_nothing_are_deleted_and_others_stay,
    events_are_numbered_in_pieces,
}

const HOUR: i64 = 3600;

async fn write(store: &Store, fill: impl FnOnce(&mut Batch) -> &mut Batch) {
    let mut batch = Batch::new();
    let _ = fill(&mut batch);
    store.write(batch).await.unwrap();
}

async fn inactive_clusters_are_found_longest_first(database: Database) {
    let store = database.open().await;
    let mut clusters: Vec<_> = (0..6).map(|n| support::cluster(&format!("c{n}"), (9 - n) * HOUR)).collect();
    clusters[4].cluster.status = ClusterStatus::Installing;
    clusters[5].cluster.deleted_at = Some(DateTime(at(1)));
    write(&store, |batch| clusters.iter().fold(batch, Batch::insert_cluster)).await;
    let ids: Vec<_> = clusters.iter().map(|record| record.cluster.id).collect();
    let found = async |hour: i64, limit| store.inactive_clusters(at(hour * HOUR), limit).await.unwrap();
    assert_eq!(found(9, 10).await, [ids[3], ids[2], ids[1], ids[0]], "to the hour");
    assert_eq!(found(9, 2).await, [ids[3], ids[2]]);
    assert_eq!(found(5, 10).await, []);

    // A touch makes it wait again.
    clusters[3].cluster.updated_at = DateTime(at(20 * HOUR));
    write(&store, |batch| batch.update_cluster(&clusters[3], Version::FIRST)).await;
    assert_eq!(found(9, 10).await, [ids[2], ids[1], ids[0]]);
}

async fn deregistered_clusters_are_found_once(database: Database) {
    let store = database.open().await;
    let mut clusters: Vec<_> = (0..3).map(|n| support::cluster(&format!("c{n}"), 1)).collect();
    clusters[0].cluster.deleted_at = Some(DateTime(at(20)));
    clusters[1].cluster.deleted_at = Some(DateTime(at(10)));
    write(&store, |batch| clusters.iter().fold(batch, Batch::insert_cluster)).await;
    let (later, sooner) = (clusters[0].cluster.id, clusters[1].cluster.id);
    let found = async |second, limit| store.deregistered_clusters(at(second), limit).await.unwrap();
    assert_eq!(found(10, 10).await, []);
    assert_eq!(found(30, 10).await, [sooner, later]);
    assert_eq!(found(30, 1).await, [sooner]);
    write(&store, |batch| batch.enqueue(&Action::DeleteCluster { cluster_id: sooner }, at(30))).await;
    assert_eq!(found(30, 10).await, [later], "the other's end is under way");
    write(&store, |batch| batch.delete_cluster(later)).await;
    assert_eq!(found(30, 10).await, []);
    assert_eq!(store.cluster(later, Deleted::Shown).await.unwrap(), None);
}

async fn deregistered_hosts_are_purged_unless_they_come_back(database: Database) {
    let store = database.open().await;
    let pool = support::infra_env(None, 1).infra_env.id;
    let mut hosts: Vec<_> = (0..3).map(|_| support::host(pool, None, 1)).collect();
    hosts[0].host.deleted_at = Some(DateTime(at(20)));
    hosts[1].host.deleted_at = Some(DateTime(at(10)));
    let event = |host_id, cluster_id| NewEvent {
        name: "told",
        severity: EventSeverity::Info,
        category: EventCategory::User,
        cluster_id,
        host_id: Some(host_id),
        infra_env_id: Some(pool),
        message: String::new(),
        props: None,
    };
    write(&store, |batch| {
        for host in &hosts {
            batch.insert_host(host).put_report(support::key(host), ReportKind::Inventory, "{}");
            batch.insert_event(&event(host.host.id, None), at(5), None);
            batch.insert_event(&event(host.host.id, Some(ClusterId::random())), at(5), None);
        }
        batch
    })
    .await;
    assert_eq!(store.deregistered_hosts(at(10), 10).await.unwrap(), []);
    let found = store.deregistered_hosts(at(30), 10).await.unwrap();
    let keys: Vec<_> = found.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, [support::key(&hosts[1]), support::key(&hosts[0])]);
    assert_eq!(store.deregistered_hosts(at(30), 1).await.unwrap().len(), 1);

    // The later one registers again before its turn comes.
    hosts[0].host.deleted_at = None;
    let back = support::key(&hosts[0]);
    write(&store, |batch| batch.delete_host(back).insert_host(&hosts[0])).await;
    for (key, version) in found {
        let mut batch = Batch::new();
        batch.purge_host(key, version);
        let outcome = store.write(batch).await;
        let refused = matches!(outcome, Err(WriteError::Conflict { .. }));
        assert_eq!(refused, key == back, "{outcome:?}");
        let left: Option<HostRow> = store.host(key, Deleted::Shown).await.unwrap();
        assert_eq!(left.is_some(), key == back);
        assert_eq!(store.reports(key).await.unwrap().len(), 0);
    }
    let told = store.events(&EventQuery::default()).await.unwrap().events;
    assert_eq!(told.len(), 5, "those that a cluster keeps stay");
}

async fn infra_envs_in_use_are_not_found(database: Database) {
    let store = database.open().await;
    let (live, mut gone) = (support::cluster("live", 1), support::cluster("gone", 1));
    gone.cluster.deleted_at = Some(DateTime(at(1)));
    let (live_id, gone_id) = (live.cluster.id, gone.cluster.id);
    let of_live = support::infra_env(Some(live_id), 10);
    let of_gone = support::infra_env(Some(gone_id), 11);
    let of_nobody = support::infra_env(Some(ClusterId::random()), 12);
    let pool = support::infra_env(None, 13);
    let lends = support::infra_env(None, 14);
    let lent_once = support::infra_env(None, 15);
    let young = support::infra_env(None, 100);
    let lent = support::host(lends.infra_env.id, Some(live_id), 1);
    let stays = support::host(pool.infra_env.id, None, 1);
    let mut came_back = support::host(lent_once.infra_env.id, Some(live_id), 1);
    came_back.host.deleted_at = Some(DateTime(at(2)));
    write(&store, |batch| {
        batch.insert_cluster(&live).insert_cluster(&gone);
        for infra_env in [&of_live, &of_gone, &of_nobody, &pool, &lends, &lent_once, &young] {
            batch.insert_infra_env(infra_env);
        }
        batch.insert_host(&lent).insert_host(&stays).insert_host(&came_back)
    })
    .await;
    let id = |record: &assisted_core::model::infra_env::InfraEnvRecord| record.infra_env.id;
    let found: Vec<InfraEnvId> = store.unused_infra_envs(at(50), 10).await.unwrap();
    assert_eq!(found, [id(&of_gone), id(&of_nobody), id(&pool), id(&lent_once)]);
    assert_eq!(store.unused_infra_envs(at(50), 1).await.unwrap(), [id(&of_gone)]);
    assert_eq!(store.unused_infra_envs(at(11), 10).await.unwrap(), []);
}

/// An event of the objects that it names.
fn told(
    name: &'static str,
    cluster_id: Option<ClusterId>,
    infra_env_id: Option<InfraEnvId>,
    host_id: Option<HostId>,
) -> NewEvent {
    NewEvent {
        name,
        severity: EventSeverity::Info,
        category: EventCategory::User,
        cluster_id,
        host_id,
        infra_env_id,
        message: String::new(),
        props: None,
    }
}

async fn names(store: &Store) -> Vec<String> {
    let page = store.events(&EventQuery::default()).await.unwrap();
    page.events.into_iter().map(|event| event.name).collect()
}

async fn events_of_nothing_are_deleted_and_others_stay(database: Database) {
    let store = database.open().await;
    let mut cluster = support::cluster("c", 1);
    cluster.cluster.deleted_at = Some(DateTime(at(2)));
    let pool = support::infra_env(None, 1);
    let host = support::host(pool.infra_env.id, None, 1);
    let (c, i, h) = (Some(cluster.cluster.id), Some(pool.infra_env.id), Some(host.host.id));
    let (no_c, no_i, no_h) = (Some(ClusterId::random()), Some(InfraEnvId::random()), Some(HostId::random()));
    write(&store, |batch| {
        batch.insert_cluster(&cluster).insert_infra_env(&pool).insert_host(&host);
        for event in [
            told("of a cluster until it is purged", c, no_i, no_h),
            told("of an infra-env", None, i, no_h),
            told("of a host", None, None, h),
            told("of no cluster", no_c, i, h),
            told("of no infra-env", None, no_i, h),
            told("of no host", None, None, no_h),
            told("of nothing", None, None, None),
        ] {
            batch.insert_event(&event, at(5), None);
        }
        batch.insert_event(&told("of nothing, later", None, None, None), at(10), None)
    })
    .await;
    let delete = async |above, up_to, before| {
        write(&store, |batch| batch.delete_events_of_nothing(above, up_to, at(before))).await;
    };
    let kept = ["of a cluster until it is purged", "of an infra-env", "of a host"];
    delete(0, i64::MAX, 5).await;
    assert_eq!(names(&store).await.len(), 8, "none was told before");
    let numbers: Vec<_> =
        store.events_after(0, None, 10).await.unwrap().events.iter().map(|(number, _)| *number).collect();
    delete(numbers[3], numbers[5], 10).await;
    let left = [&kept[..], &["of no cluster", "of nothing", "of nothing, later"][..]].concat();
    assert_eq!(names(&store).await, left, "the first number is not among them, the last is");
    delete(0, i64::MAX, 10).await;
    assert_eq!(names(&store).await, [&kept[..], &["of nothing, later"][..]].concat());
    delete(0, i64::MAX, 11).await;
    assert_eq!(names(&store).await, kept);
}

async fn events_are_numbered_in_pieces(database: Database) {
    let store = database.open().await;
    assert_eq!(store.event_number(0, 1).await.unwrap(), None);
    write(&store, |batch| {
        let event = told("told", None, None, None);
        (0..5).fold(batch, |batch, second| batch.insert_event(&event, at(second), None))
    })
    .await;
    let numbers: Vec<_> =
        store.events_after(0, None, 10).await.unwrap().events.iter().map(|(number, _)| *number).collect();
    for (after, count, expected) in [
        (0, 1, Some(numbers[0])),
        (0, 5, Some(numbers[4])),
        (0, 6, None),
        (numbers[1], 2, Some(numbers[3])),
        (numbers[1], 3, Some(numbers[4])),
        (numbers[4], 1, None),
    ] {
        assert_eq!(store.event_number(after, count).await.unwrap(), expected, "{count} after {after}");
    }
}
