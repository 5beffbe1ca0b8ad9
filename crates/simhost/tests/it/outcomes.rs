//! What becomes of a cluster when something goes wrong in it: the tables in `docs/faults/`, made anew over HTTP and compared.
//! `ASSISTED_BLESS=1` writes what is found; judge the difference by the rules before keeping it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assisted_blob::Blob;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_service::generator::{Files, GenerateError, Generator, Payload};
use assisted_simhost::fault::Faults;
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::topology::Topology;
use assisted_wire::cluster::ClusterStatus;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::service::{Data, Otherwise};
use crate::travel::Travel;

const BEFORE: &[&str] = &["discovery", "preparing"];
const SINGLE_NODE: &[&str] =
    &["starting-installation", "installing", "waiting-for-bootkube", "writing-image-to-disk", "rebooting"];
const BOOTSTRAP: &[&str] = &[
    "starting-installation",
    "installing",
    "writing-image-to-disk",
    "waiting-for-control-plane",
    "waiting-for-bootkube",
    "waiting-for-controller",
    "rebooting",
];
const MASTER: &[&str] = &["starting-installation", "installing", "writing-image-to-disk", "rebooting"];
const WORKER: &[&str] = &[
    "starting-installation",
    "installing",
    "writing-image-to-disk",
    "waiting-for-control-plane",
    "rebooting",
];

/// A host that is struck: its place, its stages until it restarts, and those after that.
type Struck = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Everything that can happen to a host at some moment.
fn moments((place, installer, node): Struck) -> Vec<String> {
    let mut faults = Vec::new();
    let mut add = |mishap: &str, moments: &[&[&str]]| {
        faults.extend(moments.iter().copied().flatten().map(|moment| format!("{mishap}@{moment}:{place}")));
    };
    let before_restart = installer.split_last().map_or(installer, |(_, before)| before);
    // Which host is the bootstrap is not known before.
    let before = if place == "bootstrap" { &[] } else { BEFORE };
    add("die", &[before, installer, node]);
    add("fail", &[installer]);
    add("silence", &[before, before_restart]);
    add("restart", &[before, before_restart]);
    add("media", &[before]);
    faults
}

/// Everything that the owner can do at some moment.
fn interventions((place, installer, node): Struck) -> Vec<String> {
    let moments = [&["preparing"], installer, node, &["finalizing"]];
    let moments: Vec<_> = moments.into_iter().flatten().collect();
    let faults = ["cancel", "reset"]
        .iter()
        .flat_map(|mishap| moments.iter().map(move |moment| format!("{mishap}@{moment}:{place}")));
    faults.collect()
}

/// Everything that happens all the time.
fn always(place: u32) -> Vec<String> {
    [
        "double",
        "delay",
        "disorder",
        "wrong-type",
        "wrong-host",
        "wrong-stage",
        "clock",
        "clock-behind",
        "slow-disk",
        "broken-disk",
        "image-pull",
        "wrong-boot",
        "olm-operator",
        "cluster-operator",
    ]
    .map(|mishap| format!("{mishap}:{place}"))
    .to_vec()
}

/// One table: a cluster for each fault.
async fn table(name: &str, shape: Shape, faults: Vec<String>) {
    let parsed: Vec<Faults> = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    let clusters = u32::try_from(faults.len()).unwrap();
    let mut plan = Plan::new(shape, clusters, 1.0).unwrap().with_faults(parsed).unwrap();
    plan.version = "4.20".to_owned();
    plan.look = Duration::from_secs(60);
    let data = Data::sqlite();
    let mut travel = Travel::start(&data, Otherwise::default()).await;
    let mut simulation = Simulation::new(plan);
    let now = travel.run(&mut simulation).await;
    let mut rows = String::new();
    let mut unexpected = String::new();
    for (result, fault) in simulation.results(now).iter().zip(&faults) {
        let row = row(&mut travel, fault, result).await;
        rows.push_str(&row);
        if !result.as_expected {
            writeln!(unexpected, "{fault}: {} expected, {:?}: {row}", result.expected, result.trouble)
                .unwrap();
        }
    }
    let refused = refusals(simulation.refusals());
    let text = format!(
        "# Faults of clusters of topology {name}\n\nMade by the tests of the crate `simhost`; \
         [what it means](../faults.md).\n\n| what goes wrong | on | cluster | hosts |\n|---|---|---|---|\n{rows}\n\
         Refused on the way, all in all:\n\n{refused}"
    );
    travel.stop().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/faults/{name}.md"));
    if std::env::var_os("ASSISTED_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let differing =
        text.lines().filter(|line| !known.lines().any(|other| other == *line)).collect::<Vec<_>>();
    assert!(
        text == known,
        "{} is not what is found (ASSISTED_BLESS=1 writes it):\n{}",
        path.display(),
        differing.join("\n")
    );
    assert_eq!(unexpected, "", "the plan and the service do not agree");
}

async fn row(travel: &mut Travel, fault: &str, result: &ClusterResult) -> String {
    let (what, place) = fault.rsplit_once(':').unwrap();
    let id = result.id.unwrap();
    let cluster = travel.get(&format!("clusters/{id}")).await;
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let mut hosts: Vec<_> = cluster["hosts"].as_array().unwrap().iter().collect();
    hosts.sort_by_key(|host| text(host, "id"));
    let place = match place.parse::<usize>() {
        Ok(place) => place,
        Err(_) => hosts.iter().position(|host| host["bootstrap"] == true).unwrap_or_default(),
    };
    let role = match hosts[place] {
        host if host["bootstrap"] == true => "bootstrap".to_owned(),
        host => text(host, "role"),
    };
    let mut ends: BTreeMap<(bool, String), u32> = BTreeMap::new();
    for (number, host) in hosts.iter().enumerate() {
        let info = text(host, "status_info").replace(&text(host, "requested_hostname"), "the host");
        let end = format!("{} ({})", text(host, "status"), info.split(": ").next().unwrap_or_default());
        *ends.entry((number != place, end)).or_default() += 1;
    }
    let told = ends.iter().map(|((other, end), count)| match other {
        false => format!("**{end}**"),
        true => format!("{count} × {end}"),
    });
    let told = told.collect::<Vec<_>>().join("<br>");
    format!(
        "| {what} | {role} | {} ({}) | {told} |\n",
        text(&cluster, "status"),
        text(&cluster, "status_info")
    )
}

/// What was refused, without ids and numbers of hosts.
fn refusals(refusals: &BTreeMap<String, u64>) -> String {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for (what, count) in refusals {
        let words = what.split(' ').map(|word| {
            let bare = word.trim_matches(|c: char| !c.is_ascii_hexdigit());
            let is_id = bare.len() == 36 && bare.matches('-').count() == 4;
            if is_id { word.replace(bare, "ID") } else { word.to_owned() }
        });
        let mut kind = words.collect::<Vec<_>>().join(" ");
        if kind.len() > 200 {
            kind = format!("{}…", kind.chars().take(200).collect::<String>());
        }
        *kinds.entry(kind).or_default() += count;
    }
    kinds.iter().fold(String::new(), |mut text, (kind, count)| {
        writeln!(text, "* {count} × {kind}").unwrap();
        text
    })
}

#[tokio::test]
async fn sno() {
    let node: Struck = ("0", SINGLE_NODE, &[]);
    // There is no other host that it could be taken for.
    let always = always(0).into_iter().filter(|fault| !fault.starts_with("wrong-host"));
    let faults = moments(node).into_iter().chain(interventions(node)).chain(always);
    table("sno", Shape::of(Topology::Sno), faults.collect()).await;
}

#[tokio::test]
async fn compact() {
    let bootstrap: Struck = ("bootstrap", BOOTSTRAP, &["configuring", "joined"]);
    let master: Struck = ("2", MASTER, &["configuring", "joined"]);
    let faults = [moments(bootstrap), moments(master), interventions(bootstrap), always(2)].concat();
    table("compact", Shape::of(Topology::Compact), faults).await;
}

#[tokio::test]
async fn ha() {
    let worker: Struck = ("3", WORKER, &["configuring", "joined"]);
    let shape = Shape { hosts: 6, ..Shape::of(Topology::Ha) };
    table("ha", shape, [moments(worker), always(3)].concat()).await;
}

#[tokio::test]
async fn arbiter() {
    let arbiter: Struck = ("2", MASTER, &["configuring", "joined"]);
    table("arbiter", Shape::of(Topology::Arbiter), moments(arbiter)).await;
}

#[tokio::test]
async fn tnf() {
    let master: Struck = ("1", MASTER, &["configuring", "joined"]);
    table("tnf", Shape::of(Topology::Tnf), moments(master)).await;
}

/// Of a hundred hosts each stage of a worker takes one; all others are installed.
#[tokio::test]
async fn workers_of_which_one_dies_in_each_stage() {
    const HOSTS: u32 = 100;
    let stages = WORKER.iter().chain(&["configuring", "joined"]);
    let dying: Vec<_> = stages.zip(3..).map(|(stage, place)| format!("die@{stage}:{place}")).collect();
    let shape = Shape { hosts: HOSTS, ..Shape::of(Topology::Ha) };
    let plan = Plan::new(shape, 1, 1.0).unwrap();
    let mut plan = plan.with_faults(vec![dying.join("+").parse().unwrap()]).unwrap();
    plan.version = "4.20".to_owned();
    plan.look = Duration::from_secs(300);
    let data = Data::sqlite();
    let mut travel = Travel::start(&data, Otherwise::default()).await;
    let mut simulation = Simulation::new(plan);
    let now = travel.run(&mut simulation).await;
    let result = simulation.results(now).remove(0);
    assert!(result.as_expected, "{result:#?}");
    let cluster = travel.get(&format!("clusters/{}", result.id.unwrap())).await;
    assert_eq!(cluster["status_info"], "Cluster is installed but some workers did not join");
    let hosts = cluster["hosts"].as_array().unwrap();
    let ended = |status: &str| hosts.iter().filter(|host| host["status"] == status).count();
    let installed = HOSTS as usize - dying.len();
    assert_eq!((ended("error"), ended("installed")), (dying.len(), installed), "{:?}", result.look);
    travel.stop().await;
}

/// What can't be generated is told, and the cluster is as ready as before.
#[tokio::test]
async fn a_failed_generation() {
    let data = Data::sqlite();
    let otherwise = Otherwise { generator: Some(Arc::new(Refusing)), ..Otherwise::default() };
    let mut travel = Travel::start(&data, otherwise).await;
    let mut plan = Plan::new(Shape::of(Topology::Compact), 1, 1.0).unwrap();
    plan.version = "4.20".to_owned();
    plan.expected = Some(ClusterStatus::Ready);
    let mut simulation = Simulation::new(plan);
    let now = travel.run(&mut simulation).await;
    let result = simulation.results(now).remove(0);
    assert!(result.as_expected, "{result:#?}");
    let id = result.id.unwrap();
    let cluster = travel.get(&format!("clusters/{id}")).await;
    assert_eq!(cluster["last-installation-preparation"]["status"], "failed", "{cluster:#}");
    assert_eq!(cluster["last-installation-preparation"]["reason"], "no such release");
    let events = travel.get(&format!("events?cluster_id={id}&categories=user")).await;
    let told =
        events.as_array().unwrap().iter().filter(|event| event["name"] == "prepare_installation_failed");
    let told: Vec<_> = told.map(|event| event["message"].as_str().unwrap()).collect();
    assert!(matches!(told.as_slice(), [text] if text.contains("no such release")), "{told:?}");
    let statuses =
        events.as_array().unwrap().iter().filter(|event| event["name"] == "cluster_status_updated");
    let last: Vec<_> = statuses.map(|event| event["message"].as_str().unwrap()).collect();
    assert!(last.last().unwrap().contains("ready"), "{last:?}");
    travel.stop().await;
}

/// A generator that always refuses.
struct Refusing;

impl Generator for Refusing {
    fn generate<'a>(
        &'a self,
        _: &'a Facts,
        _: Payload,
        _: &'a Blob,
    ) -> BoxFuture<'a, Result<Files, GenerateError>> {
        async { Err(GenerateError::Refused("no such release".to_owned())) }.boxed()
    }

    fn host_ignition<'a>(
        &'a self,
        _: &'a Facts,
        _: HostKey,
    ) -> BoxFuture<'a, Result<bytes::Bytes, GenerateError>> {
        async { Err(GenerateError::Refused("no such release".to_owned())) }.boxed()
    }
}
