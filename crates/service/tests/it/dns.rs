//! DNS records of clusters before, during and after an installation, at Route 53 (moto) and at a server that takes dynamic updates
//! (BIND).

use assisted_config::{DnsProvider, Generator, ManagedDomain, ManagedDomains, Settings};
use assisted_core::model::host::HostKey;
use assisted_core::model::refusal::RefusalKind;
use assisted_dns::{Algorithm, Change, DynamicUpdate, Key, Provider, Record, Route53};
use assisted_service::event::ListEvents;
use assisted_testkit::{AwsServer, NameServer};
use assisted_wire::cluster::{ClusterStatus, InstallationPreparationStatus};
use assisted_wire::event::EventSeverity;
use assisted_wire::id::ClusterId;
use assisted_wire::step::StepType;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::installation::Ready;
use crate::lab::{
    Database, Lab, Time, eventually, inventory, on_one_engine, refusal, resolutions, time_sources,
};

on_one_engine![route53, dynamic_updates, a_restart_before_they_are_made];

const DOMAIN: &str = "example.com";
const RECORDS: [&str; 2] = ["api.c.example.com A 192.168.126.100", "*.apps.c.example.com A 192.168.126.101"];

/// A server that keeps records.
pub enum Keeper {
    Moto { server: AwsServer, zone: String, dir: TempDir },
    Bind(NameServer),
}

impl Keeper {
    async fn moto() -> Self {
        let server = AwsServer::start().unwrap();
        let zone = AwsServer::create_zone(&server.url, DOMAIN).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let text = "[route53]\naws_access_key_id = a\naws_secret_access_key = b\n";
        std::fs::write(dir.path().join("credentials"), text).unwrap();
        Self::Moto { server, zone, dir }
    }

    pub fn bind() -> Self {
        Self::Bind(NameServer::start(DOMAIN).unwrap())
    }

    pub fn set(&self, settings: &mut Settings) {
        settings.generation.generator = Generator::Simulation;
        let (zone, provider) = match self {
            Self::Moto { server, zone, dir } => {
                settings.dns.route53_endpoint = server.url.clone();
                settings.dns.credentials_file = dir.path().join("credentials").display().to_string();
                (zone.clone(), DnsProvider::Route53)
            }
            Self::Bind(server) => {
                settings.dns.update_server = server.address();
                settings.dns.update_key = NameServer::KEY.0.to_owned();
                settings.dns.update_key_secret = NameServer::KEY.1.into();
                (DOMAIN.to_owned(), DnsProvider::Rfc2136)
            }
        };
        let domain = ManagedDomain { name: DOMAIN.to_owned(), zone, provider };
        settings.dns.domains = ManagedDomains(vec![domain]);
    }

    /// Somebody else at the same records.
    fn other(&self) -> Box<dyn Provider> {
        match self {
            Self::Moto { server, zone, dir } => {
                let (url, file) = (server.url.parse().unwrap(), dir.path().join("credentials"));
                Box::new(Route53::new(url, "us-east-1", zone, file).unwrap())
            }
            Self::Bind(server) => {
                let secret = STANDARD.decode(NameServer::KEY.1).unwrap();
                let key =
                    Key { name: NameServer::KEY.0.to_owned(), secret, algorithm: Algorithm::HmacSha256 };
                Box::new(DynamicUpdate::new(&server.address(), DOMAIN, Some(&key)).unwrap())
            }
        }
    }

    /// The addresses of the cluster's names, as the server tells them.
    pub async fn records(&self) -> Vec<String> {
        match self {
            Self::Moto { server, zone, .. } => {
                let mut records = AwsServer::zone_records(&server.url, zone).await.unwrap();
                records.reverse();
                let shown = |record: &String| {
                    let name = record.replace("\\052", "*");
                    name.replace(" A 60 ", " A ").replace(" AAAA 60 ", " AAAA ")
                };
                records.iter().map(shown).collect()
            }
            Self::Bind(server) => ["www", "api.c", "api-int.c", "*.apps.c"]
                .iter()
                .flat_map(|label| ["A", "AAAA"].map(|kind| (format!("{label}.{DOMAIN}"), kind)))
                .flat_map(|(name, kind)| {
                    let found = server.addresses(&name, kind).unwrap();
                    found.into_iter().map(move |address| format!("{name} {kind} {address}"))
                })
                .collect(),
        }
    }
}

async fn started(database: &Database, keeper: &Keeper) -> (Lab, Ready) {
    let lab = Lab::with(database, Time::default(), |settings| keeper.set(settings)).await;
    let ready = lab.ready().await;
    (lab, ready)
}

/// The records of a cluster, as it tells them itself.
async fn shown(lab: &Lab, id: ClusterId) -> Vec<String> {
    let records = lab.get_cluster(id).await.dns_records;
    records.iter().map(|record| format!("{} {} {}", record.name, record.r#type, record.address)).collect()
}

/// All of an installation as far as records are concerned, and its end.
async fn before_during_and_after(database: &Database, keeper: Keeper) {
    let (lab, ready) = started(database, &keeper).await;
    let id = ready.id;
    let domains = lab.service.catalogue().list_managed_domains(&lab.caller).await.unwrap();
    assert_eq!(domains.0[0].domain, DOMAIN);

    // Before: somebody else's record is not overwritten.
    let foreign = Record { name: "api.c.example.com".to_owned(), address: [192, 0, 2, 1].into() };
    keeper.other().put(&[Change { record: foreign.clone(), replaces: false }]).await.unwrap();
    let taken = "DNS records already exist for cluster - please change 'Cluster Name'";
    let install = lab.service.clusters().install(&lab.caller, id).await;
    assert_eq!(refusal(install), (RefusalKind::Conflict, taken.to_owned()));
    let rename = || serde_json::from_value(json!({"name": "c"})).unwrap();
    let update = lab.service.clusters().update(&lab.caller, id, rename()).await;
    assert_eq!(refusal(update), (RefusalKind::Conflict, taken.to_owned()));
    keeper.other().delete(&[foreign]).await.unwrap();
    assert!(keeper.records().await.is_empty());

    // During.
    lab.install_at(&ready).await;
    lab.until_idle(id).await;
    assert_eq!(keeper.records().await, RECORDS);
    assert_eq!(shown(&lab, id).await, RECORDS);

    // After a reset.
    lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
    assert_eq!(keeper.records().await, RECORDS, "until the reset");
    lab.service.clusters().reset(&lab.caller, id).await.unwrap();
    lab.until_idle(id).await;
    assert!(keeper.records().await.is_empty());
    assert!(lab.get_cluster(id).await.dns_records.is_empty());
    let names = lab.event_names(id).await;
    for name in ["dns_records_created", "dns_records_deleted"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    lab.stop().await;
}

async fn route53(database: Database) {
    Box::pin(before_during_and_after(&database, Keeper::moto().await)).await;
}

async fn dynamic_updates(database: Database) {
    Box::pin(before_during_and_after(&database, Keeper::bind())).await;
}

/// The process dies when everything is prepared; the next one makes the records. They go with the cluster.
async fn a_restart_before_they_are_made(database: Database) {
    let keeper = Keeper::bind();
    let (mut lab, ready) = started(&database, &keeper).await;
    lab.install(ready.id).await;
    lab.until_idle(ready.id).await;
    lab.stop_background().await;
    let next = Lab::with(&database, lab.time.clone(), |settings| keeper.set(settings)).await;
    for host in &ready.hosts {
        next.check(*host, 0).await;
    }
    next.until_status(ready.id, ClusterStatus::Installing).await;
    assert_eq!(keeper.records().await, RECORDS);
    next.service.clusters().cancel_installation(&next.caller, ready.id).await.unwrap();
    next.service.clusters().deregister(&next.caller, ready.id).await.unwrap();
    eventually("deleted with the cluster", async || {
        let left = keeper.records().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    next.stop().await;
}

/// A host with an address of IPv6 beside that of IPv4, or in its place.
async fn report_ipv6(lab: &Lab, host: HostKey, number: u8, has_ipv4: bool) {
    let mut known = inventory(number);
    let card = &mut known["interfaces"][0];
    card["ipv6_addresses"] = json!([format!("fd00:126::{}/64", 10 + number)]);
    if !has_ipv4 {
        card["ipv4_addresses"] = json!([]);
    }
    let routes = known["routes"].as_array_mut().unwrap();
    if !has_ipv4 {
        routes.clear();
    }
    routes.push(json!({"interface": "eth0", "gateway": "fd00:126::1", "destination": "::", "family": 10}));
    lab.poll(host).await.unwrap();
    lab.reply(host, StepType::Inventory, &known).await.unwrap();
    lab.reply(host, StepType::NtpSynchronizer, &time_sources()).await.unwrap();
    lab.reply(host, StepType::DomainResolution, &resolutions()).await.unwrap();
}

/// Three nodes with addresses of both families, that are ready to be installed.
async fn of_both_families(lab: &Lab, ipv6_first: bool) -> Ready {
    let both = |v4: Value, v6: Value| if ipv6_first { json!([v6, v4]) } else { json!([v4, v6]) };
    let pods = json!({"cidr": "fd01::/48", "host_prefix": 64});
    let cluster = lab
        .cluster(json!({
            "base_dns_domain": DOMAIN,
            "machine_networks": both(json!({"cidr": "192.168.126.0/24"}), json!({"cidr": "fd00:126::/64"})),
            "cluster_networks": both(json!({"cidr": "10.128.0.0/14", "host_prefix": 23}), pods),
            "service_networks": both(json!({"cidr": "172.30.0.0/16"}), json!({"cidr": "fd02::/112"})),
            "api_vips": both(json!({"ip": "192.168.126.100"}), json!({"ip": "fd00:126::100"})),
            "ingress_vips": both(json!({"ip": "192.168.126.101"}), json!({"ip": "fd00:126::101"})),
        }))
        .await;
    let infra_env = lab.infra_env(Some(cluster.id)).await;
    let mut hosts = Vec::new();
    for number in 1..=3 {
        let host = lab.host(infra_env.id).await;
        report_ipv6(lab, host, number, true).await;
        hosts.push(host);
    }
    lab.meet_in(&hosts, &["192.168.126.", "fd00:126::"]).await;
    // Nobody looks for free addresses of IPv6: whether somebody has these is asked.
    let free =
        |kind: &str, address: &str| json!({"vip": address, "vip_type": kind, "verification": "succeeded"});
    let verified = json!([
        free("api", "192.168.126.100"),
        free("api", "fd00:126::100"),
        free("ingress", "192.168.126.101"),
        free("ingress", "fd00:126::101"),
    ]);
    lab.reply(hosts[0], StepType::VerifyVips, &verified).await.unwrap();
    lab.until_status(cluster.id, ClusterStatus::Ready).await;
    Ready { id: cluster.id, hosts }
}

/// Of two virtual addresses the first has the records; a name that leads anywhere in the other family is taken all the same.
async fn of_two_families(keeper: Keeper, ipv6_first: bool) {
    let database = Database::sqlite();
    let lab = Lab::with(&database, Time::default(), |settings| keeper.set(settings)).await;
    let ready = Box::pin(of_both_families(&lab, ipv6_first)).await;
    let id = ready.id;
    let (elsewhere, expected) = if ipv6_first {
        ("192.0.2.1", ["api.c.example.com AAAA fd00:126::100", "*.apps.c.example.com AAAA fd00:126::101"])
    } else {
        ("2001:db8::1", RECORDS)
    };

    let foreign = Record { name: "api.c.example.com".to_owned(), address: elsewhere.parse().unwrap() };
    keeper.other().put(&[Change { record: foreign.clone(), replaces: false }]).await.unwrap();
    let install = lab.service.clusters().install(&lab.caller, id).await;
    assert_eq!(refusal(install).0, RefusalKind::Conflict);
    keeper.other().delete(&[foreign]).await.unwrap();
    assert!(keeper.records().await.is_empty());

    lab.install_at(&ready).await;
    lab.until_idle(id).await;
    assert_eq!(keeper.records().await, expected);
    assert_eq!(shown(&lab, id).await, expected);

    lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
    lab.service.clusters().reset(&lab.caller, id).await.unwrap();
    lab.until_idle(id).await;
    assert!(keeper.records().await.is_empty());
    assert!(lab.get_cluster(id).await.dns_records.is_empty());
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipv4_first_with_dynamic_updates() {
    Box::pin(of_two_families(Keeper::bind(), false)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipv6_first_with_dynamic_updates() {
    Box::pin(of_two_families(Keeper::bind(), true)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ipv6_first_at_route53() {
    Box::pin(of_two_families(Keeper::moto().await, true)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_at_route53() {
    Box::pin(of_a_single_node(Keeper::moto().await, false)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_with_dynamic_updates() {
    Box::pin(of_a_single_node(Keeper::bind(), false)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_of_ipv6_with_dynamic_updates() {
    Box::pin(of_a_single_node(Keeper::bind(), true)).await;
}

/// A cluster of one node has three records, all of them of its address; they go when it is deregistered, and others stay.
async fn of_a_single_node(keeper: Keeper, is_ipv6: bool) {
    let database = Database::sqlite();
    let lab = Lab::with(&database, Time::default(), |settings| keeper.set(settings)).await;
    let networks = json!({
        "control_plane_count": 1, "high_availability_mode": "None", "base_dns_domain": DOMAIN,
        "cluster_networks": [{"cidr": "fd01::/48", "host_prefix": 64}], "service_networks": [{"cidr": "fd02::/112"}],
    });
    let cluster = if is_ipv6 { lab.cluster(networks).await } else { lab.single_node().await };
    let id = cluster.id;
    let infra_env = lab.infra_env(Some(id)).await;
    let host = lab.host(infra_env.id).await;
    let address = if is_ipv6 {
        report_ipv6(&lab, host, 1, false).await;
        "AAAA fd00:126::11"
    } else {
        lab.report_all(host, 1).await;
        "A 192.168.126.11"
    };
    lab.until_status(id, ClusterStatus::Ready).await;
    let other = Record { name: "www.example.com".to_owned(), address: [192, 0, 2, 1].into() };
    keeper.other().put(&[Change { record: other, replaces: false }]).await.unwrap();

    lab.install_at(&Ready { id, hosts: vec![host] }).await;
    lab.until_idle(id).await;
    let own = ["api", "api-int", "*.apps"].map(|label| format!("{label}.c.example.com {address}")).to_vec();
    let others = ["www.example.com A 192.0.2.1".to_owned()];
    assert_eq!(keeper.records().await, [others.as_slice(), &own].concat());
    let (mut shown, mut expected) = (shown(&lab, id).await, own);
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected);

    lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
    lab.service.clusters().deregister(&lab.caller, id).await.unwrap();
    eventually("deleted with the cluster", async || {
        let left = keeper.records().await;
        if left == others { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    lab.stop().await;
}

/// The server is away when a cluster is reset: what can't be deleted is left and known, and it goes with the cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_can_not_be_deleted_is_left() {
    let (database, keeper) = (Database::sqlite(), Keeper::bind());
    let (lab, ready) = started(&database, &keeper).await;
    let id = ready.id;
    lab.install_at(&ready).await;
    lab.until_idle(id).await;
    lab.service.clusters().cancel_installation(&lab.caller, id).await.unwrap();
    let time = lab.time.clone();
    lab.stop().await;

    let lab = Lab::with(&database, time, |settings| {
        keeper.set(settings);
        // Nobody listens there.
        settings.dns.update_server = "127.0.0.1:1".to_owned();
    })
    .await;
    lab.service.clusters().reset(&lab.caller, id).await.unwrap();
    let event = eventually("told to be left", async || {
        // The pauses between tries are of the clock.
        lab.pass_at_rest(5).await;
        let page = lab.events(ListEvents { cluster_id: Some(id), ..ListEvents::default() }).await;
        let left = page.events.0.into_iter().find(|event| event.name == "dns_records_left");
        left.ok_or_else(|| format!("{} events", page.total))
    })
    .await;
    assert_eq!(event.severity, EventSeverity::Warning);
    assert!(event.message.contains(&RECORDS.join(", ")), "{}", event.message);
    assert!(event.message.contains("can't be reached"), "{}", event.message);
    lab.until_idle(id).await;
    assert_eq!(shown(&lab, id).await, RECORDS);
    assert_eq!(keeper.records().await, RECORDS);
    let time = lab.time.clone();
    lab.stop().await;

    let lab = Lab::with(&database, time, |settings| keeper.set(settings)).await;
    lab.service.clusters().deregister(&lab.caller, id).await.unwrap();
    eventually("deleted with the cluster", async || {
        let left = keeper.records().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    lab.stop().await;
}

/// The server is away when the records are to be made: each try is seen, and in the end the cluster is ready again and says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away() {
    let (database, keeper) = (Database::sqlite(), Keeper::bind());
    let (lab, ready) = started(&database, &keeper).await;
    lab.install(ready.id).await;
    drop(keeper);
    for host in &ready.hosts {
        lab.check(*host, 0).await;
    }
    let failing = eventually("failing", async || {
        let actions = lab.service.clusters().list_actions(&lab.caller, ready.id).await.unwrap().0;
        let failing = actions.iter().find(|action| action.last_error.is_some()).cloned();
        failing.ok_or_else(|| format!("{actions:?}"))
    })
    .await;
    assert_eq!(failing.action, "create_dns_records");
    let error = failing.last_error.unwrap();
    assert!(error.contains("can't be reached"), "{error}");

    let failed = eventually("ready again", async || {
        // The pauses between tries are of the clock; hosts are heard of meanwhile, however long the tries take.
        lab.pass_at_rest(5).await;
        for host in &ready.hosts {
            lab.poll(*host).await.unwrap();
        }
        let cluster = lab.get_cluster(ready.id).await;
        if cluster.status == ClusterStatus::Ready { Ok(cluster) } else { Err(cluster.status_info) }
    })
    .await;
    let last = failed.last_installation_preparation.unwrap();
    assert_eq!(last.status, Some(InstallationPreparationStatus::Failed));
    assert!(last.reason.contains("can't be reached"), "{}", last.reason);
    let install = lab.service.clusters().install(&lab.caller, ready.id).await;
    assert_eq!(refusal(install).0, RefusalKind::Unavailable);
    lab.stop().await;
}
