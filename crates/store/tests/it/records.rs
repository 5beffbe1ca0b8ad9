//! Clusters, infra-envs and hosts: guards, filters, deletion, atomicity.

use std::time::Duration;

use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::report::ReportKind;
use assisted_store::{
    Batch, ClusterFilter, Deleted, HostFilter, InfraEnvFilter, Reports, Stored, Subject, Version, WriteError,
};
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::time::DateTime;
use tokio_postgres::NoTls;
use uuid::Uuid;

use crate::support::{self, Database, at, on_both};

on_both! {
    what_is_written_is_read,
    versions_guard_updates,
    a_batch_is_all_or_nothing,
    concurrent_batches_are_apart,
    deleted_clusters_are_hidden,
    clusters_are_filtered,
    infra_envs_are_filtered,
    an_object_stands_for_one_row,
    hosts_are_filtered,
    a_cluster_is_loaded_whole,
    check_ins_move_forward,
    callers_that_go_away_leave_nothing_behind,
    awkward_text_survives,
}

async fn what_is_written_is_read(database: Database) {
    let store = database.open().await;
    let cluster = support::cluster("one", 1);
    let infra_env = support::infra_env(Some(cluster.cluster.id), 2);
    let host = support::host(infra_env.infra_env.id, Some(cluster.cluster.id), 3);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_infra_env(&infra_env).insert_host(&host);
    store.write(batch).await.unwrap();
    drop(store);

    let store = database.open().await;
    store.ping().await.unwrap();
    let stored = Stored { record: cluster.clone(), version: Version::FIRST };
    assert_eq!(store.cluster(cluster.cluster.id, Deleted::Hidden).await.unwrap(), Some(stored));
    let stored = Stored { record: infra_env.clone(), version: Version::FIRST };
    assert_eq!(store.infra_env(infra_env.infra_env.id).await.unwrap(), Some(stored));
    let read = store.host(support::key(&host), Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(read.record, host);
    assert_eq!(read.key, support::key(&host));
    assert_eq!(read.checked_in_at, Some("1970-01-01T00:00:07.250Z".parse().unwrap()));
    assert_eq!(read.record.host.created_at.0, at(3));
    assert_eq!(store.cluster(ClusterId::random(), Deleted::Shown).await.unwrap(), None);
}

async fn versions_guard_updates(database: Database) {
    let store = database.open().await;
    let mut cluster = support::cluster("one", 1);
    let id = cluster.cluster.id;
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster);
    store.write(batch).await.unwrap();

    let mut batch = Batch::new();
    batch.insert_cluster(&cluster);
    let again = store.write(batch).await.unwrap_err();
    assert!(matches!(again, WriteError::Conflict { what: Subject::Cluster(what) } if what == id), "{again}");

    cluster.cluster.name = "two".to_owned();
    let mut batch = Batch::new();
    batch.update_cluster(&cluster, Version::FIRST);
    store.write(batch).await.unwrap();
    let mut stale = cluster.clone();
    stale.cluster.name = "three".to_owned();
    let mut batch = Batch::new();
    batch.update_cluster(&stale, Version::FIRST);
    assert!(matches!(store.write(batch).await, Err(WriteError::Conflict { .. })));

    let read = store.cluster(id, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!((read.record, read.version), (cluster, Version::FIRST.next()));

    let infra_env = support::infra_env(None, 1);
    let host = support::host(infra_env.infra_env.id, None, 1);
    let mut batch = Batch::new();
    batch.insert_infra_env(&infra_env).insert_host(&host);
    store.write(batch).await.unwrap();
    let wrong = Version::FIRST.next();
    let mut batches = [Batch::new(), Batch::new(), Batch::new(), Batch::new(), Batch::new()];
    batches[0].insert_infra_env(&infra_env);
    batches[1].update_infra_env(&infra_env, wrong);
    batches[2].delete_infra_env(infra_env.infra_env.id, wrong);
    batches[3].insert_host(&host);
    batches[4].update_host(&host, wrong);
    for batch in batches {
        assert!(matches!(store.write(batch).await, Err(WriteError::Conflict { .. })));
    }
    let mut batch = Batch::new();
    batch.delete_infra_env(infra_env.infra_env.id, Version::FIRST).update_host(&host, Version::FIRST);
    store.write(batch).await.unwrap();
    assert_eq!(store.infra_env(infra_env.infra_env.id).await.unwrap(), None);
}

async fn a_batch_is_all_or_nothing(database: Database) {
    let store = database.open().await;
    let (first, second) = (support::cluster("first", 1), support::cluster("second", 2));
    let mut batch = Batch::new();
    batch.insert_cluster(&first);
    store.write(batch).await.unwrap();

    let mut batch = Batch::new();
    batch.insert_cluster(&second).update_cluster(&first, Version::FIRST.next());
    assert!(matches!(store.write(batch).await, Err(WriteError::Conflict { .. })));
    assert_eq!(store.cluster(second.cluster.id, Deleted::Shown).await.unwrap(), None);
    store.write(Batch::new()).await.unwrap();
}

/// Batches that queue together are committed together, yet one that fails fails alone.
async fn concurrent_batches_are_apart(database: Database) {
    let store = database.open().await;
    let taken = support::cluster("taken", 0);
    let mut batch = Batch::new();
    batch.insert_cluster(&taken);
    store.write(batch).await.unwrap();

    let clusters: Vec<_> = (0..300).map(|n| support::cluster(&format!("c{n}"), n)).collect();
    let writes = clusters.iter().enumerate().map(|(n, cluster)| {
        let mut batch = Batch::new();
        batch.insert_cluster(cluster);
        if n % 10 == 0 {
            batch.insert_cluster(&taken);
        }
        store.write(batch)
    });
    let results = futures::future::join_all(writes).await;
    for (n, (cluster, result)) in clusters.iter().zip(results).enumerate() {
        let there = store.cluster(cluster.cluster.id, Deleted::Hidden).await.unwrap().is_some();
        assert_eq!((result.is_ok(), there), (n % 10 != 0, n % 10 != 0), "{n}");
    }
}

async fn deleted_clusters_are_hidden(database: Database) {
    let store = database.open().await;
    let mut cluster = support::cluster("gone", 1);
    let id = cluster.cluster.id;
    let mut host = support::host(support::infra_env(None, 1).infra_env.id, Some(id), 1);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_host(&host);
    store.write(batch).await.unwrap();

    cluster.cluster.deleted_at = Some(DateTime(at(9)));
    host.host.deleted_at = Some(DateTime(at(9)));
    let mut batch = Batch::new();
    batch.update_cluster(&cluster, Version::FIRST).update_host(&host, Version::FIRST);
    store.write(batch).await.unwrap();
    assert_eq!(store.cluster(id, Deleted::Hidden).await.unwrap(), None);
    assert!(store.load_cluster(id, Deleted::Hidden).await.unwrap().is_none());
    assert!(store.host(support::key(&host), Deleted::Hidden).await.unwrap().is_none());
    let loaded = store.load_cluster(id, Deleted::Shown).await.unwrap().unwrap();
    assert!(loaded.cluster.record.cluster.deleted_at.is_some());
    assert_eq!(loaded.hosts.len(), 1);

    assert_eq!(store.clusters(&ClusterFilter::default()).await.unwrap().len(), 0);
    let filter = ClusterFilter { deleted: Deleted::Shown, ..ClusterFilter::default() };
    assert_eq!(store.clusters(&filter).await.unwrap().len(), 1);

    let mut batch = Batch::new();
    batch.delete_cluster(id).delete_host(support::key(&host));
    store.write(batch).await.unwrap();
    assert_eq!(store.cluster(id, Deleted::Shown).await.unwrap(), None);
    assert!(store.load_host(support::key(&host), Deleted::Shown).await.unwrap().is_none());
}

async fn clusters_are_filtered(database: Database) {
    let store = database.open().await;
    let mut clusters: Vec<_> = (0..5).map(|n| support::cluster(&format!("c{n}"), 10 - n)).collect();
    clusters[1].cluster.user_name = "ann".to_owned();
    clusters[2].cluster.user_name = "ann".to_owned();
    clusters[2].cluster.org_id = "org".to_owned();
    clusters[3].cluster.openshift_cluster_id = Some(Uuid::new_v4());
    clusters[4].cluster.ams_subscription_id = Some("2KJx".to_owned());
    clusters[0].object_key = Some(ObjectKey::new("site", "a"));
    clusters[1].object_key = Some(ObjectKey::new("site", "b"));
    let mut batch = Batch::new();
    for cluster in &clusters {
        batch.insert_cluster(cluster);
    }
    store.write(batch).await.unwrap();

    let any = ClusterFilter::default();
    let ams = |ids: &[&str]| ClusterFilter {
        ams_subscription_ids: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
        ..any.clone()
    };
    let cases = [
        (any.clone(), "c4 c3 c2 c1 c0"),
        (ClusterFilter { user_name: Some("ann".to_owned()), ..any.clone() }, "c2 c1"),
        (ClusterFilter { user_name: Some("ann' or 1=1 --".to_owned()), ..any.clone() }, ""),
        (
            ClusterFilter {
                user_name: Some("ann".to_owned()),
                org_id: Some("org".to_owned()),
                ..any.clone()
            },
            "c2",
        ),
        (
            ClusterFilter { openshift_cluster_id: clusters[3].cluster.openshift_cluster_id, ..any.clone() },
            "c3",
        ),
        (ams(&["2KJ", "2KJx", "2KJxy"]), "c4"),
        (ams(&["2kjx"]), ""),
        (ams(&[]), ""),
        (ClusterFilter { has_object: true, ..any.clone() }, "c1 c0"),
        (ClusterFilter { object: Some(ObjectKey::new("site", "b")), ..any.clone() }, "c1"),
        (ClusterFilter { object: Some(ObjectKey::new("other", "b")), ..any.clone() }, ""),
    ];
    for (filter, expected) in cases {
        let found = store.clusters(&filter).await.unwrap();
        let names: Vec<_> = found.iter().map(|stored| stored.record.cluster.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{filter:?}");
    }

    assert_eq!(store.count_clusters("ann").await.unwrap(), 2);
    assert_eq!(store.count_clusters("bob").await.unwrap(), 0);
    clusters[1].cluster.deleted_at = Some(DateTime(at(9)));
    let mut batch = Batch::new();
    batch.update_cluster(&clusters[1], Version::FIRST);
    store.write(batch).await.unwrap();
    assert_eq!(store.count_clusters("ann").await.unwrap(), 1);
}

async fn an_object_stands_for_one_row(database: Database) {
    let store = database.open().await;
    let key = ObjectKey::new("site", "a");
    let mut clusters = [support::cluster("c0", 1), support::cluster("c1", 2)];
    let mut infra_envs = [support::infra_env(None, 1), support::infra_env(None, 2)];
    for n in 0..2 {
        clusters[n].object_key = Some(key.clone());
        infra_envs[n].object_key = Some(key.clone());
    }
    let mut batch = Batch::new();
    batch.insert_cluster(&clusters[0]).insert_infra_env(&infra_envs[0]);
    store.write(batch).await.unwrap();
    let mut batch = Batch::new();
    batch.insert_cluster(&clusters[1]);
    assert!(matches!(store.write(batch).await, Err(WriteError::Conflict { .. })));
    let mut batch = Batch::new();
    batch.insert_infra_env(&infra_envs[1]);
    assert!(matches!(store.write(batch).await, Err(WriteError::Conflict { .. })));

    // One that was removed gives its object free.
    clusters[0].cluster.deleted_at = Some(DateTime(at(9)));
    let mut batch = Batch::new();
    batch.update_cluster(&clusters[0], Version::FIRST);
    batch.delete_infra_env(infra_envs[0].infra_env.id, Version::FIRST);
    batch.insert_cluster(&clusters[1]).insert_infra_env(&infra_envs[1]);
    store.write(batch).await.unwrap();
    let of_object = ClusterFilter { object: Some(key.clone()), ..ClusterFilter::default() };
    assert_eq!(store.clusters(&of_object).await.unwrap()[0].record, clusters[1]);
    let of_object = InfraEnvFilter { object: Some(key), ..InfraEnvFilter::default() };
    assert_eq!(store.infra_envs(&of_object).await.unwrap()[0].record, infra_envs[1]);
}

async fn infra_envs_are_filtered(database: Database) {
    let store = database.open().await;
    let cluster = ClusterId::random();
    let mut first = support::infra_env(Some(cluster), 1);
    first.infra_env.user_name = "ann".to_owned();
    let second = support::infra_env(None, 2);
    let mut batch = Batch::new();
    batch.insert_infra_env(&first).insert_infra_env(&second);
    store.write(batch).await.unwrap();

    let any = InfraEnvFilter::default();
    let cases = [
        (any.clone(), 2),
        (InfraEnvFilter { cluster_id: Some(cluster), ..any.clone() }, 1),
        (InfraEnvFilter { cluster_id: Some(ClusterId::random()), ..any.clone() }, 0),
        (InfraEnvFilter { user_name: Some("ann".to_owned()), ..any.clone() }, 1),
        (InfraEnvFilter { org_id: Some("org".to_owned()), ..any.clone() }, 0),
    ];
    for (filter, expected) in cases {
        assert_eq!(store.infra_envs(&filter).await.unwrap().len(), expected, "{filter:?}");
    }
    assert_eq!(store.count_infra_envs("ann").await.unwrap(), 1);
    assert_eq!(store.count_infra_envs("bob").await.unwrap(), 0);
}

async fn hosts_are_filtered(database: Database) {
    let store = database.open().await;
    let (cluster, rack, other) =
        (ClusterId::random(), support::infra_env(None, 1), support::infra_env(None, 1));
    let mut first = support::host(rack.infra_env.id, Some(cluster), 1);
    first.host.role = Some(HostRole::Master);
    let mut second = support::host(rack.infra_env.id, None, 2);
    second.host.status = HostStatus::Known;
    let mut twin = support::host(other.infra_env.id, Some(cluster), 3);
    twin.host.id = first.host.id;
    let mut batch = Batch::new();
    batch.insert_host(&twin).insert_host(&second).insert_host(&first);
    batch.put_report(support::key(&first), ReportKind::Inventory, "{}");
    batch.put_report(support::key(&first), ReportKind::NtpSources, "[]");
    store.write(batch).await.unwrap();

    let any = HostFilter::default();
    let cases = [
        (any.clone(), vec![&first, &second, &twin]),
        (HostFilter { infra_env_id: Some(rack.infra_env.id), ..any.clone() }, vec![&first, &second]),
        (HostFilter { host_id: Some(first.host.id), ..any.clone() }, vec![&first, &twin]),
        (HostFilter { cluster_id: Some(cluster), ..any.clone() }, vec![&first, &twin]),
        (
            HostFilter { cluster_ids: Some(vec![ClusterId::random(), cluster]), ..any.clone() },
            vec![&first, &twin],
        ),
        (HostFilter { cluster_ids: Some(Vec::new()), ..any.clone() }, vec![]),
        (HostFilter { role: Some(HostRole::Master), ..any.clone() }, vec![&first]),
        (HostFilter { status: Some(HostStatus::Known), ..any.clone() }, vec![&second]),
    ];
    for (filter, expected) in cases {
        let found = store.hosts(&filter).await.unwrap();
        let records: Vec<_> = found.iter().map(|host| &host.record).collect();
        assert_eq!(records, expected, "{filter:?}");
        assert_eq!(store.count_hosts(&filter).await.unwrap(), expected.len() as u64);
    }
    let states = store.host_states(&any).await.unwrap();
    assert_eq!(states, [(cluster, HostStatus::Discovering, 2)], "pools have none");

    for (reports, expected) in [
        (Reports::None, vec![]),
        (Reports::Only(vec![ReportKind::Inventory, ReportKind::Connectivity]), vec![ReportKind::Inventory]),
        (Reports::Only(Vec::new()), vec![]),
        (Reports::All, vec![ReportKind::Inventory, ReportKind::NtpSources]),
    ] {
        let filter = HostFilter { cluster_id: Some(cluster), reports, ..any.clone() };
        let hosts = store.hosts(&filter).await.unwrap();
        assert_eq!(hosts[0].reports.keys().copied().collect::<Vec<_>>(), expected, "{filter:?}");
        assert!(hosts[1].reports.is_empty(), "a twin in another infra-env has its own reports");
    }
}

async fn a_cluster_is_loaded_whole(database: Database) {
    let store = database.open().await;
    let cluster = support::cluster("whole", 1);
    let id = cluster.cluster.id;
    let (own, pool) = (support::infra_env(Some(id), 1), support::infra_env(None, 2));
    let hosts: Vec<_> = [(own.infra_env.id, 5), (pool.infra_env.id, 3), (own.infra_env.id, 4)]
        .into_iter()
        .map(|(infra_env, created)| support::host(infra_env, Some(id), created))
        .collect();
    let stranger = support::host(pool.infra_env.id, None, 1);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_infra_env(&own).insert_infra_env(&pool).insert_host(&stranger);
    for (n, host) in hosts.iter().enumerate() {
        batch.insert_host(host);
        for kind in ReportKind::ALL {
            batch.put_report(support::key(host), *kind, format!("{n} {}", kind.as_str()));
        }
    }
    store.write(batch).await.unwrap();

    let loaded = store.load_cluster(id, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(loaded.cluster.record, cluster);
    let records: Vec<_> = loaded.hosts.iter().map(|host| &host.record).collect();
    assert_eq!(records, [&hosts[1], &hosts[2], &hosts[0]]);
    for (host, n) in loaded.hosts.iter().zip([1, 2, 0]) {
        assert_eq!(host.reports.len(), ReportKind::ALL.len());
        for (kind, report) in &host.reports {
            assert_eq!(&*report.text, format!("{n} {}", kind.as_str()));
        }
    }
    let infra_envs: Vec<_> = loaded.infra_envs.iter().map(|stored| &stored.record).collect();
    assert_eq!(infra_envs, [&own, &pool]);

    let alone = store.load_host(support::key(&stranger), Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!((alone.host.record, alone.infra_env.unwrap().record), (stranger, pool));
    assert_eq!(alone.cluster_version, None);
    let bound = store.load_host(loaded.hosts[0].key, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(bound.cluster_version, Some(loaded.cluster.version));
}

async fn check_ins_move_forward(database: Database) {
    let store = database.open().await;
    let hosts: Vec<_> =
        (0..50).map(|n| support::host(support::infra_env(None, 1).infra_env.id, None, n)).collect();
    let mut never = support::host(support::infra_env(None, 1).infra_env.id, None, 60);
    never.host.checked_in_at = DateTime::ZERO;
    let mut batch = Batch::new();
    batch.insert_host(&never);
    for host in &hosts {
        batch.insert_host(host);
    }
    store.write(batch).await.unwrap();
    let stored =
        async |host| store.host(support::key(host), Deleted::Hidden).await.unwrap().unwrap().checked_in_at;
    assert_eq!(stored(&never).await, None);

    let mut flushed: Vec<_> = hosts.iter().map(|host| (support::key(host), at(100))).collect();
    flushed.push((support::key(&never), at(100)));
    flushed.push((support::key(&hosts[0]), at(99)));
    flushed.push((support::key(&hosts[1]), at(101)));
    flushed.push((support::key(&support::host(support::infra_env(None, 1).infra_env.id, None, 1)), at(1)));
    store.flush_checkins(&flushed).await.unwrap();
    store.flush_checkins(&[(support::key(&hosts[2]), at(50))]).await.unwrap();
    store.flush_checkins(&[]).await.unwrap();
    for (host, expected) in
        [(&hosts[0], 100), (&hosts[1], 101), (&hosts[2], 100), (&hosts[49], 100), (&never, 100)]
    {
        assert_eq!(stored(host).await, Some(at(expected)));
    }
}

async fn callers_that_go_away_leave_nothing_behind(database: Database) {
    let store = database.open().await;
    for _ in 0..500 {
        let read = store.ping();
        // Dropped once the query is on its way.
        tokio::select! {
            biased;
            read = read => read.unwrap(),
            () = std::future::ready(()) => {}
        }
        store.ping().await.unwrap();
    }
}

async fn awkward_text_survives(database: Database) {
    let store = database.open().await;
    let mut cluster = support::cluster("nul \0 quote ' emoji 🦀 \u{202e} $1 ?1", 1);
    cluster.cluster.user_name = "o'neill\0".to_owned();
    let host = support::host(support::infra_env(None, 1).infra_env.id, None, 1);
    let mut batch = Batch::new();
    batch.insert_cluster(&cluster).insert_host(&host);
    batch.put_report(support::key(&host), ReportKind::Inventory, "a\0b ' $2");
    store.write(batch).await.unwrap();
    let read = store.cluster(cluster.cluster.id, Deleted::Hidden).await.unwrap().unwrap();
    assert_eq!(read.record, cluster);
    let report = store.report(support::key(&host), ReportKind::Inventory).await.unwrap().unwrap();
    assert_eq!(&*report.text, "a\u{fffd}b ' $2");
}

/// What a look at one cluster costs must not grow with what else there is: each table is read through an index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_at_a_cluster_reads_no_other() {
    let database = Database::postgres();
    let (client, connection) = tokio_postgres::connect(&database.address, NoTls).await.unwrap();
    tokio::spawn(connection);
    // Where the planner has a choice, small tables are read whole; here only what no index leads to is.
    let name: String = client.query_one("select current_database()::text", &[]).await.unwrap().get(0);
    client.batch_execute(&format!("alter database {name} set enable_seqscan = off")).await.unwrap();

    let store = database.open().await;
    let mut ids = Vec::new();
    for number in 0..3 {
        let cluster = support::cluster("many", number);
        let infra_env = support::infra_env(Some(cluster.cluster.id), number);
        let host = support::host(infra_env.infra_env.id, Some(cluster.cluster.id), number);
        let mut batch = Batch::new();
        batch.insert_cluster(&cluster).insert_infra_env(&infra_env).insert_host(&host);
        store.write(batch).await.unwrap();
        ids.push(cluster.cluster.id);
    }
    for id in ids {
        let loaded = store.load_cluster(id, Deleted::Hidden).await.unwrap().unwrap();
        assert_eq!((loaded.infra_envs.len(), loaded.hosts.len()), (1, 1));
    }
    // A connection tells what it did when it ends.
    drop(store);
    let others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    let ended = async {
        while client.query_one(others, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("connections stay");
    let read = "select relname::text, seq_tup_read, idx_scan from pg_stat_user_tables \
                where relname in ('clusters', 'infra_envs', 'hosts')";
    for row in client.query(read, &[]).await.unwrap() {
        let (table, one_by_one, by_index) =
            (row.get::<_, &str>(0), row.get::<_, i64>(1), row.get::<_, i64>(2));
        assert_eq!(one_by_one, 0, "rows of {table} were read one by one");
        assert!(by_index > 0, "{table} was not read");
    }
}
