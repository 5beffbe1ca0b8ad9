//! Events: every filter, the counts, paging.

use assisted_core::model::event::NewEvent;
use assisted_store::{Batch, EventOrder, EventPage, EventQuery, NewEvents, Store, Version};
use assisted_wire::event::{Event, EventCategory, EventSeverity};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::time::DateTime;
use uuid::Uuid;

use crate::support::{self, Database, at, on_both};

on_both! {
    events_are_filtered_counted_and_paged,
    an_event_keeps_all_its_parts,
    new_events_are_told_and_found_by_their_numbers,
}

struct World {
    cluster: ClusterId,
    infra_env: InfraEnvId,
    live: HostId,
    deleted: HostId,
}

/// Events `a` … `h` of a cluster with a live and a deleted host, and some that belong elsewhere.
async fn world(store: &Store) -> World {
    let cluster = support::cluster("c", 1);
    let infra_env = support::infra_env(None, 1);
    let live = support::host(infra_env.infra_env.id, Some(cluster.cluster.id), 1);
    let deleted = support::host(infra_env.infra_env.id, Some(cluster.cluster.id), 2);
    let world = World {
        cluster: cluster.cluster.id,
        infra_env: infra_env.infra_env.id,
        live: live.host.id,
        deleted: deleted.host.id,
    };
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_infra_env(&infra_env).insert_host(&live).insert_host(&deleted);
    let mut gone = deleted.clone();
    gone.host.deleted_at = Some(DateTime(at(5)));
    batch.update_host(&gone, Version::FIRST);

    use EventSeverity::{Critical, Error, Info, Warning};
    let (c, i, l, d) = (Some(world.cluster), Some(world.infra_env), Some(world.live), Some(world.deleted));
    let rows = [
        ("a", 3, Info, EventCategory::User, c, i, l, "Host registered"),
        ("b", 1, Info, EventCategory::User, c, None, None, "Cluster registered"),
        ("c", 2, Warning, EventCategory::User, c, i, d, "Host gone"),
        ("d", 4, Error, EventCategory::User, c, i, l, "100%_done \\ really"),
        ("e", 5, Critical, EventCategory::User, c, i, d, "ÄRGER with disk"),
        ("f", 6, Info, EventCategory::Metrics, c, None, None, "metric"),
        ("g", 7, Info, EventCategory::User, None, i, None, "Image made"),
        ("h", 7, Error, EventCategory::User, None, i, l, "Host in pool"),
        (
            "x",
            8,
            Info,
            EventCategory::User,
            Some(ClusterId::random()),
            None,
            None,
            "of a cluster that is not there",
        ),
        ("y", 8, Info, EventCategory::User, None, Some(InfraEnvId::random()), None, "of no infra-env"),
        ("z", 8, Info, EventCategory::User, None, None, Some(HostId::random()), "of no host"),
    ];
    for (name, second, severity, category, cluster_id, infra_env_id, host_id, message) in rows {
        let message = message.to_owned();
        let event =
            NewEvent { name, severity, category, cluster_id, host_id, infra_env_id, message, props: None };
        batch.insert_event(&event, at(second), None);
    }
    store.write(batch).await.unwrap();
    world
}

fn names(page: &EventPage) -> String {
    page.events.iter().map(|event| event.name.as_str()).collect()
}

async fn events_are_filtered_counted_and_paged(database: Database) {
    let store = database.open().await;
    let world = world(&store).await;
    let any = EventQuery::default();
    let of_cluster = EventQuery { cluster_id: Some(world.cluster), ..any.clone() };
    let message = |part: &str| EventQuery { message: Some(part.to_owned()), ..of_cluster.clone() };
    let both = vec![EventCategory::User, EventCategory::Metrics];
    let severe = vec![EventSeverity::Warning, EventSeverity::Critical];
    let counts = [2, 1, 1, 1];
    let none = [0; 4];

    let cases: Vec<(EventQuery, &str, [u64; 4], u64)> = vec![
        (of_cluster.clone(), "bcade", counts, 5),
        (EventQuery { order: EventOrder::Descending, ..of_cluster.clone() }, "edacb", counts, 5),
        (EventQuery { categories: both, ..of_cluster.clone() }, "bcadef", [3, 1, 1, 1], 6),
        (EventQuery { categories: vec![EventCategory::Metrics], ..of_cluster.clone() }, "f", [1, 0, 0, 0], 1),
        (EventQuery { severities: severe, ..of_cluster.clone() }, "ce", counts, 2),
        (EventQuery { limit: Some(2), offset: 1, ..of_cluster.clone() }, "ca", counts, 5),
        (EventQuery { limit: Some(0), ..of_cluster.clone() }, "", counts, 5),
        (EventQuery { limit: Some(u64::MAX), offset: u64::MAX, ..of_cluster.clone() }, "", counts, 5),
        (EventQuery { cluster_level: true, ..of_cluster.clone() }, "b", [1, 0, 0, 0], 1),
        (EventQuery { deleted_hosts: true, ..of_cluster.clone() }, "ce", [0, 1, 0, 1], 2),
        (EventQuery { host_ids: vec![world.live], ..of_cluster.clone() }, "ad", [1, 0, 1, 0], 2),
        (
            EventQuery {
                cluster_level: true,
                deleted_hosts: true,
                host_ids: vec![world.live],
                ..of_cluster.clone()
            },
            "bcade",
            counts,
            5,
        ),
        (
            EventQuery {
                cluster_level: true,
                host_ids: vec![world.live, HostId::random()],
                ..of_cluster.clone()
            },
            "bad",
            [2, 0, 1, 0],
            3,
        ),
        (message("REGISTERED"), "ba", [2, 0, 0, 0], 2),
        (message("%_"), "d", [0, 0, 1, 0], 1),
        (message("\\ R"), "d", [0, 0, 1, 0], 1),
        (message("_"), "d", [0, 0, 1, 0], 1),
        (message("Ärger"), "e", [0, 0, 0, 1], 1),
        (message(""), "bcade", counts, 5),
        (EventQuery { infra_env_id: Some(world.infra_env), ..of_cluster.clone() }, "bcade", counts, 5),
        (EventQuery { cluster_id: Some(ClusterId::random()), ..any.clone() }, "", none, 0),
        (EventQuery { infra_env_id: Some(world.infra_env), ..any.clone() }, "cadegh", none, 6),
        (EventQuery { infra_env_id: Some(InfraEnvId::random()), ..any.clone() }, "", none, 0),
        (
            EventQuery { infra_env_id: Some(world.infra_env), host_ids: vec![world.live], ..any.clone() },
            "adh",
            none,
            3,
        ),
        (EventQuery { host_ids: vec![world.live, world.deleted], ..any.clone() }, "adh", none, 3),
        (any.clone(), "bcadeghxyz", none, 10),
    ];
    for (query, expected, severity_counts, count) in cases {
        let page = store.events(&query).await.unwrap();
        assert_eq!(names(&page), expected, "{query:?}");
        assert_eq!((page.severity_counts, page.count), (severity_counts, count), "{query:?}");
    }
    let stray = EventQuery { cluster_id: None, ..of_cluster };
    assert_eq!(names(&store.events(&stray).await.unwrap()), "bcadeghxyz");

    let mut batch = Batch::new();
    batch.delete_cluster(world.cluster);
    store.write(batch).await.unwrap();
    assert_eq!(names(&store.events(&any).await.unwrap()), "ghxyz");
}

async fn an_event_keeps_all_its_parts(database: Database) {
    let store = database.open().await;
    let event = Event {
        name: "disk.size.type".to_owned(),
        cluster_id: Some(ClusterId::random()),
        host_id: Some(HostId::random()),
        infra_env_id: Some(InfraEnvId::random()),
        severity: EventSeverity::Critical,
        category: Some(EventCategory::Metrics),
        message: "m".to_owned(),
        event_time: DateTime(at(-1)),
        request_id: Some(Uuid::new_v4()),
        props: r#"{"a":1}"#.to_owned(),
    };
    let plain = Event { category: None, ..event.clone() };
    let mut batch = Batch::new();
    batch.insert_client_event(&event).insert_client_event(&plain);
    store.write(batch).await.unwrap();
    let query = EventQuery { categories: vec![EventCategory::Metrics], ..EventQuery::default() };
    assert_eq!(store.events(&query).await.unwrap().events, [event]);
    let user = Event { category: Some(EventCategory::User), ..plain };
    assert_eq!(store.events(&EventQuery::default()).await.unwrap().events, [user]);
}

async fn new_events_are_told_and_found_by_their_numbers(database: Database) {
    let store = database.open().await;
    let mut marks = store.event_marks();
    marks.mark_unchanged();
    assert_eq!(store.events_after(0, None, 10).await.unwrap(), NewEvents::default());
    let world = world(&store).await;
    tokio::time::timeout(std::time::Duration::from_secs(30), marks.changed()).await.unwrap().unwrap();
    let names = |found: &NewEvents| {
        found.events.iter().map(|(_, event)| event.name.clone()).collect::<Vec<_>>().join(" ")
    };
    let all = store.events_after(0, None, 100).await.unwrap();
    // Those for users, in the order in which they were written.
    assert_eq!(names(&all), "a b c d e g h x y z");
    assert_eq!(all.newest, all.events.last().unwrap().0);
    let (third, _) = all.events[2];
    assert_eq!(names(&store.events_after(third, None, 100).await.unwrap()), "d e g h x y z");
    let newest = store.events_after(third, None, 2).await.unwrap();
    assert_eq!((names(&newest).as_str(), newest.newest), ("y z", all.newest));
    assert_eq!(names(&store.events_after(third, Some(world.cluster), 100).await.unwrap()), "d e");
    assert_eq!(names(&store.events_after(all.newest, None, 100).await.unwrap()), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_reads_the_table_finds_a_number_that_grows() {
    let database = Database::postgres();
    let store = database.open().await;
    // As an exporter of PostgreSQL's own measures asks for it.
    let newest = async || {
        let found = database.query("select max(id)::text as max_event_id from events").await;
        found[0].parse::<i64>().unwrap()
    };
    let world = world(&store).await;
    let before = newest().await;
    assert_eq!(before, store.events_after(0, None, 100).await.unwrap().newest);
    // No number is given twice, whatever is deleted.
    database.execute("delete from events").await;
    let later = NewEvent {
        name: "later",
        severity: EventSeverity::Info,
        category: EventCategory::User,
        cluster_id: Some(world.cluster),
        infra_env_id: None,
        host_id: None,
        message: "later".to_owned(),
        props: None,
    };
    let mut batch = Batch::new();
    batch.insert_event(&later, at(9), None);
    store.write(batch).await.unwrap();
    assert!(newest().await > before);
}
