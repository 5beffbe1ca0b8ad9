//! What becomes of a cluster when something goes wrong in it: one cluster for each case, installed over HTTP, and compared with what
//! the rules say.

mod case;
mod generation;
mod page;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use assisted_simhost::fault::FaultKind;
use assisted_simhost::plan::{Plan, Shape};
use assisted_simhost::simulation::{ClusterResult, Simulation};
use assisted_simhost::topology::Topology;
use assisted_wire::host::{HostRole, HostStage};
use serde_json::{Map, Value};

use crate::service::{Data, Otherwise};
use crate::travel::Travel;
use case::Case;
use rules::{End, Lasts, Others, REFUSALS, RULES};

/// The topologies that have a page.
const TOPOLOGIES: [Topology; 5] =
    [Topology::Compact, Topology::Sno, Topology::Ha, Topology::Arbiter, Topology::Tnf];

/// Of the cases only those whose fault begins like this, for whoever looks for a reason.
const ONLY: &str = "ASSISTED_FAULT";

/// Lets each case happen to a cluster of its own. Clusters that end soon do not go on for as long as those that take a day.
async fn run_cases(data: fn() -> Data, mut cases: Vec<Case>) {
    if let Ok(only) = std::env::var(ONLY) {
        cases.retain(|case| case.fault().to_string().starts_with(&only));
    }
    let mut alike: BTreeMap<Lasts, Vec<Case>> = BTreeMap::new();
    for case in cases {
        alike.entry(rules::lasts(&case)).or_default().push(case);
    }
    for cases in alike.values() {
        judge_together(&data(), cases).await;
    }
}

async fn judge_together(data: &Data, cases: &[Case]) {
    let shape = cases[0].shape;
    let mut plan = Plan::new(shape, u32::try_from(cases.len()).unwrap(), 1.0).unwrap();
    plan = plan.with_faults(cases.iter().map(Case::faults).collect()).unwrap();
    plan.version = "4.20".to_owned();
    plan.look = Duration::from_secs(60);
    let mut travel = Travel::start(data, Otherwise::default()).await;
    let mut simulation = Simulation::new(plan);
    let now = travel.run(&mut simulation).await;
    let mut wrong = String::new();
    for ((result, case), number) in simulation.results(now).iter().zip(cases).zip(0..) {
        let target = simulation.target(number);
        for complaint in complaints(&mut travel, case, result, target).await {
            writeln!(wrong, "{}: {complaint}", case.fault()).unwrap();
        }
    }
    for refusal in simulation.refusals().keys() {
        if !REFUSALS.iter().any(|(known, _)| refusal.contains(known)) {
            writeln!(wrong, "refused: {refusal}").unwrap();
        }
    }
    let warnings = travel.warnings();
    travel.stop().await;
    assert!(wrong.is_empty(), "{}:\n{wrong}{warnings}", shape.topology);
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// How what became of a cluster differs from what the rules say.
async fn complaints(
    travel: &mut Travel,
    case: &Case,
    result: &ClusterResult,
    target: Option<u32>,
) -> Vec<String> {
    let rule = &RULES[rules::of(case)];
    let mut complaints = Vec::new();
    if !result.as_expected {
        complaints.push(format!("the plan expects {}, {:?}", result.expected, result.trouble));
    }
    let cluster = travel.get(&format!("clusters/{}", result.id.unwrap())).await;
    let ended = (text(&cluster, "status"), text(&cluster, "status_info"));
    if ended != (rule.cluster.0.as_str(), rule.cluster.1) {
        complaints.push(format!("the cluster is {ended:?}, not {:?}", rule.cluster));
    }
    let mut hosts: Vec<_> = cluster["hosts"].as_array().unwrap().iter().collect();
    // Their ids have the order of their places.
    hosts.sort_by_key(|host| text(host, "id"));
    let target = target.map(|place| place as usize);
    complaints.extend(wrong_victim(case, target.map(|place| hosts[place])));
    for (place, host) in hosts.iter().enumerate() {
        let posed = target.is_some_and(|target| place == (target + 1) % hosts.len());
        let expected = match &rule.others {
            _ if target == Some(place) => rule.struck,
            Others::Alike(all) => *all,
            Others::Bootstrap(special, _) if host["bootstrap"] == true => *special,
            Others::Posed(special, _) if posed => *special,
            Others::Bootstrap(_, rest) | Others::Posed(_, rest) => *rest,
        };
        let End(status, info, names) = expected;
        let info = info.replace("{stage}", case.stage().map_or("", HostStage::as_str));
        let (is, said) = (text(host, "status"), text(host, "status_info"));
        if is != status.as_str() || !said.starts_with(&info) || !said.contains(names) {
            let who = if target == Some(place) { "the struck host" } else { "host" };
            let unfulfilled = unfulfilled(host);
            complaints.push(format!("{who} {place} is {is} ({said}), not {expected:?}; {unfulfilled:?}"));
        }
    }
    complaints
}

/// The messages of a host's validations that are not fulfilled.
fn unfulfilled(host: &Value) -> Vec<String> {
    let validations: Value = serde_json::from_str(text(host, "validations_info")).unwrap_or_default();
    let all = validations.as_object().into_iter().flat_map(Map::values);
    let all = all.flat_map(|group| group.as_array().into_iter().flatten());
    let unfulfilled = all.filter(|validation| validation["status"] != "success");
    unfulfilled.map(|validation| text(validation, "message").to_owned()).collect()
}

/// Whether the wrong host was struck, or none.
fn wrong_victim(case: &Case, target: Option<&Value>) -> Option<String> {
    let Some(wanted) = case.role else { return target.map(|_| "a host was struck".to_owned()) };
    // What the user does strikes nobody, and after a reset a host may get another role.
    let users_own = matches!(case.kind, FaultKind::Cancel | FaultKind::Reset);
    let Some(host) = target else { return (!users_own).then(|| "nobody was struck".to_owned()) };
    let role = text(host, "role");
    let is_bootstrap = host["bootstrap"] == true;
    let fits = match wanted {
        _ if users_own => true,
        // Chosen when the installation begins; before, it can only be struck where nobody else could be chosen.
        HostRole::Bootstrap => is_bootstrap || case.fault().is_early() && case.is_alone(),
        HostRole::Master if case.fault().is_early() => matches!(role, "master" | "auto-assign"),
        other => role == other.as_str() && !is_bootstrap,
    };
    (!fits).then(|| format!("a host of role {role}, bootstrap {is_bootstrap}, was struck"))
}

/// A case for each fault and role.
fn one_of_each_mishap(cases: Vec<Case>) -> Vec<Case> {
    let mut known = BTreeSet::new();
    cases.into_iter().filter(|case| known.insert((case.kind.as_str(), case.role))).collect()
}

macro_rules! topologies {
    ($($name:ident: $topology:ident;)+) => {
        mod everything_on_sqlite {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                run_cases(Data::sqlite, case::all(Topology::$topology)).await;
            })+
        }
        mod everything_on_postgresql {
            use super::*;
            $(#[tokio::test]
            async fn $name() {
                run_cases(Data::postgres, case::all(Topology::$topology)).await;
            })+
        }
    };
}

topologies! {
    sno: Sno;
    compact: Compact;
    ha: Ha;
    arbiter: Arbiter;
    tnf: Tnf;
}

/// Each fault once on a host of each role, in the topology that most clusters have.
#[tokio::test]
async fn on_sqlite() {
    run_cases(Data::sqlite, one_of_each_mishap(case::all(Topology::Compact))).await;
}

/// The same where a third kind of host takes part, on a host of that kind, on the other database: what befalls others is decided as above.
#[tokio::test]
async fn on_postgresql() {
    let mut cases = one_of_each_mishap(case::all(Topology::Arbiter));
    cases.retain(|case| matches!(case.role, None | Some(HostRole::Arbiter)));
    assert!(cases.len() > 20);
    run_cases(Data::postgres, cases).await;
}

/// Of a hundred hosts each stage of a worker takes one; all others are installed.
#[tokio::test]
async fn everything_workers_of_which_one_dies_in_each_stage() {
    const HOSTS: u32 = 100;
    let stages = case::OF_WORKER;
    let dying: Vec<_> = stages.iter().zip(3..).map(|(stage, place)| format!("die@{stage}:{place}")).collect();
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
