//! Rows come as they were, once.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use assisted_core::model::host::HostKey;
use assisted_core::model::object_key::ObjectKey;
use assisted_core::model::report::ReportKind;
use assisted_import::{Error, Kind, KindCount, Target, import};
use assisted_store::{ClusterFilter, Deleted, Due, EventQuery, Foreign, HostFilter, Options, Reports};
use assisted_testkit::wait::Wait;
use assisted_wire::cluster::ClusterStatus;
use assisted_wire::event::EventCategory;
use assisted_wire::host::HostStatus;
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use jiff::{SignedDuration, Timestamp};

use crate::world::{Ours, Theirs, id};

fn counts(taken: u64, there: u64, left: u64) -> KindCount {
    KindCount { taken, there, left }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clusters_in_every_state_come_once() {
    let theirs = Theirs::filled().await;
    for ours in [Ours::on_sqlite().await, Ours::on_postgres().await] {
        let report = ours.take(&theirs, None).await;
        assert_eq!(report.of(Kind::Clusters), counts(100, 0, 1), "{:?}", report.left);
        assert_eq!(report.of(Kind::InfraEnvs), counts(103, 0, 0), "{:?}", report.left);
        // Of the cluster that was deleted, and of an infra-env that is gone.
        assert_eq!(report.of(Kind::Hosts), counts(310, 0, 2), "{:?}", report.left);
        assert_eq!(report.of(Kind::Events), counts(1103, 0, 0), "{:?}", report.left);
        assert!(
            report.notes.iter().any(|note| note.starts_with("1 events did not come")),
            "{:?}",
            report.notes
        );
        assert!(report.notes.iter().any(|note| note.contains("no place of files")), "{:?}", report.notes);
        // cluster-5, -17, …
        assert_eq!(report.notes.iter().filter(|note| note.contains("is being installed")).count(), 8);

        let clusters = ours.store.clusters(&ClusterFilter::default()).await.unwrap();
        let states: BTreeSet<_> = clusters.iter().map(|one| one.record.cluster.status.as_str()).collect();
        assert_eq!((clusters.len(), states.len()), (100, ClusterStatus::ALL.len()));
        let filter = HostFilter { reports: Reports::None, ..HostFilter::default() };
        let hosts = ours.store.hosts(&filter).await.unwrap();
        let states: BTreeSet<_> = hosts.iter().map(|one| one.record.host.status.as_str()).collect();
        assert_eq!((hosts.len(), states.len()), (310, HostStatus::ALL.len()));

        let before = ours.rows().await;
        let again = ours.take(&theirs, None).await;
        assert_eq!(again.of(Kind::Clusters), counts(0, 100, 1));
        assert_eq!(again.of(Kind::InfraEnvs), counts(0, 103, 0));
        assert_eq!(again.of(Kind::Hosts), counts(0, 310, 2));
        assert_eq!(again.of(Kind::Events).taken, 0);
        assert!(ours.rows().await == before, "nothing changed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_is_comes_with_it() {
    let theirs = Theirs::filled().await;
    let ours = Ours::on_sqlite().await;
    ours.take(&theirs, None).await;
    let read = async |n| {
        let id: ClusterId = id(1, n);
        ours.store.load_cluster(id, Deleted::Hidden).await.unwrap().unwrap()
    };

    // Dual-stack, IPv6 first; the network of the bootstrap host before the other one.
    let three = read(13).await.cluster.record;
    let cidrs: Vec<_> =
        three.cluster.machine_networks.iter().flatten().map(|network| network.cidr.0.as_str()).collect();
    assert_eq!(cidrs, ["fd00::/64", "192.168.100.0/24", "192.168.200.0/24"]);
    let cidrs: Vec<_> = three
        .cluster
        .cluster_networks
        .iter()
        .flatten()
        .map(|network| (network.cidr.0.as_str(), network.host_prefix))
        .collect();
    assert_eq!(cidrs, [("fd01::/48", 64), ("10.128.0.0/14", 23)]);
    let vips: Vec<_> = three.cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.as_str()).collect();
    assert_eq!(vips, ["192.168.100.5"]);
    assert_eq!(three.pull_secret.expose(), r#"{"auths":{"quay.io":{"auth":"cHVsbC1zZWNyZXQ="}}}"#);
    assert_eq!(three.cluster.platform.as_ref().unwrap().r#type.as_str(), "baremetal");
    assert_eq!(three.cluster.created_at.0, "2026-01-01T00:13:00.123Z".parse::<Timestamp>().unwrap());
    let console = &three.cluster.monitored_operators.as_ref().unwrap()[0];
    assert_eq!(
        (console.name.as_str(), console.bundles.as_deref()),
        ("console", Some(&["virtualization".to_owned()][..]))
    );

    assert_eq!(read(4).await.cluster.record.cluster.status_info, "");
    let subscription = read(2).await.cluster.record.cluster.ams_subscription_id;
    assert_eq!(subscription.as_deref(), Some("2KJxXxXxXxXxXxXxXxXxXxXxXxX"));
    assert_eq!(read(3).await.cluster.record.cluster.ams_subscription_id, None);
    let six = read(6).await.cluster.record;
    assert_eq!(six.api_vip_lease, "lease { }");
    assert!(six.machine_network_cidr_updated_at.is_some());
    let seven = read(7).await;
    assert_eq!(seven.cluster.record.object_key, Some(ObjectKey::new("site", "seven")));
    assert_eq!(seven.infra_envs[0].record.object_key, Some(ObjectKey::new("site", "env-7")));
    assert_eq!(seven.infra_envs[0].record.image_token_key.expose(), "ab".repeat(32));
    assert_eq!(read(8).await.cluster.record.cluster.install_config_overrides, r#"{"fips":true}"#);
    assert_eq!(read(9).await.cluster.record.ui_settings, r#"{"step":1}"#);
    let mirror = read(11).await.cluster.record.mirror_registry.unwrap();
    assert_eq!((mirror.registries_conf.as_str(), mirror.authorities.as_str()), ("[[registry]]", "PEM"));

    let one = read(1).await;
    let proxy = one.infra_envs[0].record.infra_env.proxy.clone().unwrap();
    assert_eq!((proxy.http_proxy.as_deref(), proxy.https_proxy), (Some("http://proxy:3128"), None));
    let host = one.hosts.iter().find(|host| host.key.host_id == id::<HostId>(3, 1)).unwrap();
    assert!(host.record.host.bootstrap && host.record.host.fencing_credentials.contains("fence-secret"));
    assert_eq!(host.record.clock_ahead_seconds, Some(5));
    assert!(host.record.approved);
    assert_eq!(host.checked_in_at, Some("2026-03-01T00:00:02Z".parse().unwrap()));
    assert!(host.reports[&ReportKind::Inventory].text.contains("192.168.100.11/24"));
    assert!(host.record.host.inventory.is_empty(), "it stands apart");
    let second = one.hosts.iter().find(|host| host.key.host_id == id::<HostId>(3, 2)).unwrap();
    assert_eq!(second.record.ignition_endpoint_token.expose(), "endpoint-token");
    // Installed, with the files of that attempt; the one that prepares has them made.
    let installed = read(7).await;
    assert_eq!(installed.cluster.record.cluster.status, ClusterStatus::Installed);
    assert_eq!(
        installed.cluster.record.generated_for,
        Some("2026-02-01T10:00:00.250Z".parse::<Timestamp>().unwrap().into())
    );
    let now = Timestamp::now();
    let actions = ours.store.take_actions("me", now, 100, SignedDuration::from_secs(1)).await.unwrap();
    assert_eq!(actions.len(), 9);
    assert!(actions.iter().all(|action| action.action.name() == "generate"));
    // Everything is looked at, and hosts of no cluster by themselves.
    let due = ours.store.take_due("me", now, 1000, SignedDuration::from_secs(1)).await.unwrap();
    assert_eq!(due.iter().filter(|one| matches!(one.due, Due::Cluster(_))).count(), 100);
    assert_eq!(due.iter().filter(|one| matches!(one.due, Due::Host(_))).count(), 10);

    // The same machine in two infra-envs.
    for infra_env in [102, 103] {
        let key = HostKey { infra_env_id: id::<InfraEnvId>(2, infra_env), host_id: id(3, 301) };
        assert!(ours.store.host(key, Deleted::Hidden).await.unwrap().is_some(), "{infra_env}");
    }
    let query = EventQuery {
        cluster_id: Some(id(1, 11)),
        categories: vec![EventCategory::User, EventCategory::Metrics],
        ..EventQuery::default()
    };
    let events = ours.store.events(&query).await.unwrap().events;
    assert_eq!((events.len(), events[0].message.as_str()), (10, "something happened 10"));
    assert_eq!((events[0].category, events[0].props.as_str()), (Some(EventCategory::Metrics), r#"{"a":1}"#));
}

/// How long an import may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The first cluster of those that are made while others are read.
const FIRST: u32 = 10_000;

/// A cluster as the first one is, with its infra-env, one host, a network and an event, in one transaction.
fn one_more(n: u32) -> String {
    let like_the_first = |table: &str, kind: u8, other: &str| {
        format!(
            "insert into {table} select (jsonb_populate_record(t, jsonb_build_object('id', uid({kind}, {n}), {other}))).* \
             from {table} t where t.id = uid({kind}, 1);"
        )
    };
    let name = format!("'name', 'more-{n}'");
    [
        "begin;".to_owned(),
        like_the_first("infra_envs", 2, &format!("{name}, 'cluster_id', uid(1, {n})")),
        like_the_first("clusters", 1, &name),
        like_the_first("hosts", 3, &format!("'infra_env_id', uid(2, {n}), 'cluster_id', uid(1, {n})")),
        format!("insert into machine_networks values (uid(1, {n}), '192.168.100.0/24');"),
        format!(
            "insert into events (event_time, name, cluster_id, severity, category, message) \
             values (now(), 'cluster_registration_succeeded', uid(1, {n}), 'info', 'user', 'registered');"
        ),
        "commit;".to_owned(),
    ]
    .concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_meanwhile_comes_whole_or_not_at_all() {
    let theirs = Theirs::filled().await;
    let ours = Ours::on_sqlite().await;
    let written = Cell::new(0_u64);
    let writing = async {
        for n in FIRST..FIRST + 100_000 {
            theirs.execute(&one_more(n)).await;
            written.set(written.get() + 1);
        }
    };
    let importing = async {
        while written.get() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        ours.take(&theirs, None).await
    };
    let late = async {
        let mut wait = Wait::new(
            "the end of the import of a database that is written to",
            ours.dir.path().display(),
            LIMIT,
        );
        loop {
            if let Err(late) = wait.go_on() {
                return late;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let report = tokio::select! {
        report = importing => report,
        () = writing => panic!("the import has no end"),
        late = late => panic!("{late}"),
    };
    let more = report.of(Kind::Clusters).taken - 100;
    assert!((1..written.get()).contains(&more), "{more} of {}", written.get());
    assert_eq!(report.of(Kind::Clusters), counts(100 + more, 0, 1), "{:?}", report.left);
    assert_eq!(report.of(Kind::InfraEnvs), counts(103 + more, 0, 0), "{:?}", report.left);
    assert_eq!(report.of(Kind::Hosts), counts(310 + more, 0, 2), "{:?}", report.left);
    assert_eq!(report.of(Kind::Events), counts(1103 + more, 0, 0), "{:?}", report.left);
    let first = ours.store.load_cluster(id(1, FIRST), Deleted::Hidden).await.unwrap().unwrap();
    let networks = first.cluster.record.cluster.machine_networks.iter().flatten().count();
    assert_eq!((first.infra_envs.len(), first.hosts.len(), networks), (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_database_has_fewer_columns_and_a_strange_row_holds_up_nobody() {
    let theirs = Theirs::filled().await;
    theirs
        .execute(
            "delete from migrations where id = '20260413120000'; alter table clusters drop column control_plane_count, \
             drop column primary_ip_stack; alter table hosts drop column fencing_credentials; \
             update clusters set status = 'of-tomorrow' where name = 'cluster-20'; \
             update infra_envs set type = 'of-tomorrow' where name = 'env-30'",
        )
        .await;
    let ours = Ours::on_sqlite().await;
    let report = ours.take(&theirs, None).await;
    assert_eq!(report.of(Kind::Clusters), counts(99, 0, 2), "{:?}", report.left);
    // Those of the cluster, those of the infra-env, and two whose cluster or infra-env is gone.
    assert_eq!(report.of(Kind::Hosts), counts(304, 0, 8), "{:?}", report.left);
    assert!(report.notes[0].contains("older"), "{:?}", report.notes);
    let strange = report.left.iter().find(|left| left.id == id::<ClusterId>(1, 20).to_string()).unwrap();
    assert!(!strange.why.is_empty() && !strange.why.contains("of-tomorrow"), "{strange:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_somebody_else_is_refused() {
    let ours = Ours::on_postgres().await;
    let from = Foreign::open(&ours.address, &Options::default()).await.unwrap();
    let refused = import(&from, None, Target { store: &ours.store, files: &ours.files }).await;
    assert!(matches!(refused, Err(Error::NotTheirs("migrations"))), "{refused:?}");
}
