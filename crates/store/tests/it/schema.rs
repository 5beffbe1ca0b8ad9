//! Opening: addresses, every released schema, newer ones.

use std::os::unix::fs::PermissionsExt;

use assisted_core::model::action::Action;
use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::report::ReportKind;
use assisted_store::{
    ClusterFilter, Deleted, Due, Error, EventQuery, InfraEnvFilter, OpenError, Sink, Store, WorkKey,
    WorkState,
};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::{SignedDuration, Timestamp};

use crate::support::{Database, on_both};

on_both! { opens_schema_1, opens_schema_2, opens_schema_3, opens_schema_4, opens_schema_5, opens_schema_6, opens_schema_7, opens_schema_8, opens_schema_9, opens_schema_10, refuses_a_newer_schema, refuses_the_tables_of_others, opens_many_times_at_once, }

/// Schema and rows as each version left them.
const VERSIONS: [(&str, &str); 10] = [
    (include_str!("../../migrations/1.sql"), include_str!("../fixtures/schema-1.sql")),
    (include_str!("../../migrations/2.sql"), include_str!("../fixtures/schema-2.sql")),
    (include_str!("../../migrations/3.sql"), include_str!("../fixtures/schema-3.sql")),
    (include_str!("../../migrations/4.sql"), include_str!("../fixtures/schema-4.sql")),
    (include_str!("../../migrations/5.sql"), include_str!("../fixtures/schema-5.sql")),
    (include_str!("../../migrations/6.sql"), include_str!("../fixtures/schema-6.sql")),
    (include_str!("../../migrations/7.sql"), include_str!("../fixtures/schema-7.sql")),
    (include_str!("../../migrations/8.sql"), include_str!("../fixtures/schema-8.sql")),
    (include_str!("../../migrations/9.sql"), include_str!("../fixtures/schema-9.sql")),
    (include_str!("../../migrations/10.sql"), include_str!("../fixtures/schema-10.sql")),
];

async fn opens_schema_1(database: Database) {
    opens(&database, 1).await;
}

async fn opens_schema_2(database: Database) {
    let store = opens(&database, 2).await;
    let id: ClusterId = "11111111-1111-4111-8111-111111111111".parse().unwrap();
    let now = Timestamp::new(2_000_000_000, 0).unwrap();
    let taken = store.take_actions("me", now, 10, SignedDuration::from_secs(1)).await.unwrap();
    assert_eq!((taken.len(), taken[0].last_error.as_deref()), (1, Some("broke")));
    let attempt = Timestamp::from_second(1_700_000_000).unwrap().into();
    assert_eq!(taken[0].action, Action::Generate { cluster_id: id, attempt });
}

async fn opens_schema_3(database: Database) {
    let store = opens(&database, 3).await;
    let gone: ClusterId = "44444444-4444-4444-8444-444444444444".parse().unwrap();
    let later = Timestamp::new(1_700_000_001, 0).unwrap();
    assert_eq!(store.deregistered_clusters(later, 10).await.unwrap(), [gone]);
    assert!(store.cluster(gone, Deleted::Shown).await.unwrap().is_some());
}

async fn opens_schema_4(database: Database) {
    let store = opens(&database, 4).await;
    let gone: ClusterId = "44444444-4444-4444-8444-444444444444".parse().unwrap();
    // The lease under which it was taken has run out.
    let rows = store.work(Timestamp::new(2_000_000_010, 0).unwrap(), 10).await.unwrap();
    let aside: Vec<_> = rows.iter().filter(|row| row.state == WorkState::SetAside).collect();
    assert_eq!((aside.len(), aside[0].key), (1, WorkKey::Due(Due::Cluster(gone))));
}

async fn opens_schema_5(database: Database) {
    let store = opens(&database, 5).await;
    let people = store.people();
    let ann = people.user("ann").await.unwrap().unwrap();
    assert_eq!((ann.role.as_str(), ann.org_id.as_str()), ("admin", "blue"));
    let now = Timestamp::new(1_700_000_001, 0).unwrap();
    let (user, token) = people.user_token(&[0, 0xff], now).await.unwrap().unwrap();
    assert_eq!((user, token.name.as_str(), token.user_id), (ann.clone(), "ci", ann.id));
}

async fn opens_schema_6(database: Database) {
    let store = opens(&database, 6).await;
    let key = ObjectKey::new("site", "a");
    let of_object = ClusterFilter { object: Some(key.clone()), ..ClusterFilter::default() };
    assert_eq!(store.clusters(&of_object).await.unwrap().len(), 1);
    let of_object = InfraEnvFilter { object: Some(key), ..InfraEnvFilter::default() };
    assert_eq!(store.infra_envs(&of_object).await.unwrap().len(), 1);
}

async fn opens_schema_7(database: Database) {
    let store = opens(&database, 7).await;
    let keys: Vec<_> = store.seal_keys().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["00112233aabbccdd"]);
}

async fn opens_schema_8(database: Database) {
    let store = opens(&database, 8).await;
    let waiting = store.messages(Sink::Webhook, 10).await.unwrap();
    assert_eq!((waiting.len(), waiting[0].kind.as_str(), waiting[0].attempts), (1, "Event", 2));
    assert_eq!(store.outbox_state(Sink::Webhook).await.unwrap().aside, 0);
}

async fn opens_schema_9(database: Database) {
    let store = opens(&database, 9).await;
    let gone: ClusterId = "44444444-4444-4444-8444-444444444444".parse().unwrap();
    let ids = Some(vec!["2KJxXxXxXxXxXxXxXxXxXxXxXxX".to_owned()]);
    let filter = ClusterFilter {
        deleted: Deleted::Shown,
        ams_subscription_ids: ids.clone(),
        ..ClusterFilter::default()
    };
    let found = store.clusters(&filter).await.unwrap();
    assert_eq!((found.len(), found[0].record.cluster.id), (1, gone));
    let hidden = ClusterFilter { ams_subscription_ids: ids, ..ClusterFilter::default() };
    assert!(store.clusters(&hidden).await.unwrap().is_empty());
}

async fn opens_schema_10(database: Database) {
    let store = opens(&database, 10).await;
    let locked = store.service_secret("released").await;
    assert!(matches!(locked, Err(Error::Locked)), "{locked:?}");
}

/// Makes a database of an earlier version with its rows.
pub async fn migrate_to(database: &Database, version: usize) {
    let versions = "create table schema_versions (version bigint primary key, applied_at bigint not null)";
    database.execute(versions).await;
    for (n, (schema, rows)) in VERSIONS[..version].iter().enumerate() {
        let record = format!("insert into schema_versions values ({}, 1)", n + 1);
        database.execute(&format!("{schema}; {record}; {rows}")).await;
    }
}

/// Opens a database of an earlier version with its rows.
async fn opens(database: &Database, version: usize) -> Store {
    migrate_to(database, version).await;
    holds(database).await
}

/// Opens a database that came from an earlier version.
pub async fn holds(database: &Database) -> Store {
    let store = database.open().await;
    let id: ClusterId = "11111111-1111-4111-8111-111111111111".parse().unwrap();
    let infra_env_id: InfraEnvId = "22222222-2222-4222-8222-222222222222".parse().unwrap();
    let host_id: HostId = "33333333-3333-4333-8333-333333333333".parse().unwrap();
    let loaded = store.load_cluster(id, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(loaded.cluster.record.cluster.name, "released");
    assert_eq!(loaded.cluster.record.pull_secret.expose(), "{}");
    assert_eq!(loaded.infra_envs[0].record.infra_env.id, infra_env_id);
    assert_eq!(loaded.hosts[0].key, HostKey { infra_env_id, host_id });
    assert_eq!(loaded.hosts[0].checked_in_at, Some(Timestamp::new(1_700_000_000, 1).unwrap()));
    assert_eq!(&*loaded.hosts[0].reports[&ReportKind::Inventory].text, "{}");
    let events = store.events(&EventQuery::default()).await.unwrap().events;
    assert_eq!(events[0].message, "Registered");
    let now = Timestamp::new(2_000_000_000, 0).unwrap();
    let mut taken = store.take_due("me", now, 10, SignedDuration::from_secs(1)).await.unwrap();
    taken.retain(|taken| taken.due == Due::Cluster(id));
    assert_eq!((taken.len(), taken[0].last_error.as_deref()), (1, Some("broke")));
    // In the hour from 22:00.
    let before = Timestamp::new(1_699_999_201, 0).unwrap();
    assert_eq!(store.inactive_clusters(before, 10).await.unwrap(), [id]);
    store
}

async fn refuses_a_newer_schema(database: Database) {
    drop(database.open().await);
    database.execute("insert into schema_versions values (1000, 1)").await;
    let error = Store::open(&database.address).await.unwrap_err();
    assert!(matches!(error, OpenError::NewerSchema { found: 1000, known: 10 }), "{error}");
    assert!(error.to_string().contains("newer program"), "{error}");
}

async fn refuses_the_tables_of_others(database: Database) {
    database.execute("create table clusters (id text primary key, kind text); insert into clusters values ('1', 'Cluster')").await;
    for _ in 0..2 {
        let error = Store::open(&database.address).await.unwrap_err();
        assert!(matches!(&error, OpenError::OfOthers { table } if table == "clusters"), "{error}");
        assert!(error.to_string().contains("assisted import --from"), "{error}");
    }
    // It was left as it is: nothing of ours is in the way.
    database
        .execute("create table schema_versions (id bigint); insert into clusters values ('2', 'Cluster')")
        .await;
}

async fn opens_many_times_at_once(database: Database) {
    let opened = futures::future::join_all((0..8).map(|_| Store::open(&database.address))).await;
    for store in opened {
        store.unwrap().ping().await.unwrap();
    }
}

#[tokio::test]
async fn bad_addresses_are_refused_without_their_password() {
    for address in [
        "",
        "sqlite:",
        "sqlite://",
        "nonsense",
        "assisted.db",
        "/nowhere/at/all/assisted.db",
        "mysql://root:hunter2@db/x",
        "postgres://u:hunter2@[::1/x",
        "postgres://u:hunter2@h:port/x",
    ] {
        let error = Store::open(address).await.unwrap_err();
        assert!(matches!(error, OpenError::Address(_)), "{address}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
    let error = Store::open("postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=5").await.unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    let text = "not a database, but long enough to be one at first sight".repeat(40);
    std::fs::write(&path, &text).unwrap();
    Store::open(path.to_str().unwrap()).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn the_file_is_for_its_owner_only() {
    let database = Database::sqlite();
    let _store = database.open().await;
    for file in database.files() {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
