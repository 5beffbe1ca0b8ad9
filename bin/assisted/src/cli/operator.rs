//! `assisted operator …`

use std::fmt::Write;

use assisted_console::Failure;
use assisted_console::output::{facts, indented, show, table};
use assisted_wire::cluster::Cluster;
use assisted_wire::operator_assessment::{
    OperatorAssessment, OperatorAssessmentList, OperatorDescription, OperatorDescriptionList,
    OperatorHostAssessment, OperatorLevel,
};
use assisted_wire::requirements::HostTypeHardwareRequirements;
use assisted_wire::validation::{Validation, ValidationStatus};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::common::Context;

#[derive(Subcommand, Debug)]
pub enum Command {
    /// List operators: what each needs; with a cluster, which of them the cluster has and which its hosts could take
    List {
        #[command(flatten)]
        of: ForCluster,
    },
    /// Show what an operator needs; with a cluster, what it would add to which host, and which hosts fail and why
    Show {
        /// Name, as `assisted operator list` shows it
        name: String,
        #[command(flatten)]
        of: ForCluster,
    },
}

/// What operators are looked at for.
#[derive(Args, Debug)]
pub struct ForCluster {
    /// For a cluster (id, beginning of an id, or name)
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
}

impl ForCluster {
    async fn cluster(&self, context: &Context) -> Result<Option<Cluster>, Failure> {
        match &self.cluster {
            Some(meant) => Ok(Some(context.cluster(meant).await?)),
            None => Ok(None),
        }
    }
}

/// What is shown of one operator.
#[derive(Serialize)]
struct Shown {
    description: OperatorDescription,
    #[serde(skip_serializing_if = "Option::is_none")]
    assessment: Option<OperatorAssessment>,
}

impl Command {
    pub async fn run(self, context: &Context) -> Result<(), Failure> {
        let client = &context.client;
        match self {
            Self::List { of } => match of.cluster(context).await? {
                Some(cluster) => {
                    show(context.format, &client.assess_operators(cluster.id, None).await?, assessments)
                }
                None => show(context.format, &client.list_operators(None).await?, descriptions),
            },
            Self::Show { name, of } => {
                let cluster = of.cluster(context).await?;
                let version = cluster.as_ref().map(|cluster| cluster.openshift_version.as_str());
                // An old name of one is known to the service alone; only names that are listed are shown.
                let mut all = client.list_operators(version).await?.0;
                all.retain(|operator| operator.name == name);
                let Some(description) = all.pop() else {
                    return Err(Failure::Refused(format!(
                        "no operator has the name {name:?}; `assisted operator list` shows them"
                    )));
                };
                let assessment = match &cluster {
                    Some(cluster) => client.assess_operators(cluster.id, Some(&name)).await?.0.pop(),
                    None => None,
                };
                show(context.format, &Shown { description, assessment }, text)
            }
        }
    }
}

/// What operators take of hosts of a role, in numbers.
fn numbers(role: Option<&HostTypeHardwareRequirements>) -> String {
    let numbers = role.and_then(|role| role.quantitative.as_ref());
    numbers.map_or_else(|| "-".to_owned(), |numbers| resources(numbers.cpu_cores, numbers.ram_mib))
}

fn resources(cpu_cores: i64, ram_mib: i64) -> String {
    match (cpu_cores, ram_mib) {
        (0, 0) => "-".to_owned(),
        (cores, mib) => format!("{cores} cores, {mib} MiB"),
    }
}

fn names(list: &[String]) -> String {
    if list.is_empty() { "-".to_owned() } else { list.join(", ") }
}

fn levels(list: &[OperatorLevel]) -> String {
    let level = |each: &OperatorLevel| match each.from_version.as_str() {
        "" => each.support_level.to_string(),
        version => format!("{} from {version}", each.support_level),
    };
    list.iter().map(level).collect::<Vec<_>>().join(", ")
}

fn descriptions(list: &OperatorDescriptionList) -> String {
    let rows = list.0.iter().map(|operator| {
        [
            operator.name.clone(),
            names(&operator.dependencies),
            names(&operator.bundles),
            numbers(operator.requirements.master.as_ref()),
            numbers(operator.requirements.worker.as_ref()),
            levels(&operator.levels),
        ]
    });
    table(["NAME", "NEEDS", "BUNDLES", "TAKES OF A MASTER", "TAKES OF A WORKER", "SUPPORT"], rows)
}

/// Whether the cluster has it, in a word.
fn selected(assessment: &OperatorAssessment) -> &'static str {
    match (assessment.selected, assessment.dependency_only) {
        (true, true) => "for another",
        (true, false) => "yes",
        (false, _) => "no",
    }
}

fn open(validations: &[Validation]) -> impl Iterator<Item = &Validation> {
    let holds =
        |each: &Validation| matches!(each.status, ValidationStatus::Success | ValidationStatus::Disabled);
    validations.iter().filter(move |each| !holds(each))
}

/// Why the cluster itself can't have the operator; empty when it can.
fn hindrance(assessment: &OperatorAssessment) -> String {
    let refusal = Some(assessment.refusal.clone()).filter(|refusal| !refusal.is_empty());
    refusal
        .or_else(|| open(&assessment.validations).next().map(|each| each.message.clone()))
        .unwrap_or_default()
}

fn assessments(list: &OperatorAssessmentList) -> String {
    let rows = list.0.iter().map(|assessment| {
        let hosts = &assessment.hosts;
        let fit = hosts.iter().filter(|host| open(&host.validations).next().is_none()).count();
        let cores = hosts.iter().map(|host| host.cpu_cores).sum();
        let mib = hosts.iter().map(|host| host.ram_mib).sum();
        [
            assessment.name.clone(),
            selected(assessment).to_owned(),
            assessment.support_level.to_string(),
            names(&assessment.adds),
            resources(cores, mib),
            format!("{fit} of {}", hosts.len()),
            hindrance(assessment),
        ]
    });
    table(
        ["NAME", "SELECTED", "SUPPORT", "BRINGS", "TAKES OF ALL HOSTS", "HOSTS THAT FIT", "HINDRANCE"],
        rows,
    )
}

fn text(shown: &Shown) -> String {
    let Shown { description, assessment } = shown;
    let role = |role: Option<&HostTypeHardwareRequirements>| {
        let words = role.and_then(|role| role.qualitative.clone()).unwrap_or_default();
        [vec![numbers(role)], words].concat().join("; ")
    };
    let excluded: Vec<_> = description.excluded_architectures.iter().map(ToString::to_string).collect();
    let incompatible: Vec<_> = description.incompatibilities.iter().map(ToString::to_string).collect();
    let mut text = facts(&[
        ("name", description.name.clone()),
        ("title", description.title.clone()),
        ("namespace", description.namespace.clone()),
        ("needs", names(&description.dependencies)),
        ("on a single node", names(&description.single_node_dependencies)),
        ("bundles", names(&description.bundles)),
        ("support", levels(&description.levels)),
        ("not on", names(&excluded)),
        ("not with", names(&incompatible)),
        ("takes of a master", role(description.requirements.master.as_ref())),
        ("takes of a worker", role(description.requirements.worker.as_ref())),
        ("time limit", format!("{} minutes", description.timeout_seconds / 60)),
    ]);
    if let Some(assessment) = assessment {
        // Writing to a string can't fail.
        let _ = write!(text, "\n\n{}", of_cluster(assessment));
    }
    text
}

fn of_cluster(assessment: &OperatorAssessment) -> String {
    let reason = assessment.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let mut text = facts(&[
        ("selected", selected(assessment).to_owned()),
        ("support here", format!("{}{reason}", assessment.support_level)),
        ("brings", names(&assessment.adds)),
        ("hindrance", Some(hindrance(assessment)).filter(|text| !text.is_empty()).unwrap_or("-".to_owned())),
    ]);
    if assessment.hosts.is_empty() {
        return format!("{text}\n\nThe cluster has no hosts yet.");
    }
    let rows = assessment.hosts.iter().map(|host| {
        let failing = open(&host.validations).count();
        let fits = if failing == 0 { "yes".to_owned() } else { "no".to_owned() };
        [name(host), host.role.to_string(), resources(host.cpu_cores, host.ram_mib), fits]
    });
    text = format!("{text}\n\n{}", table(["HOST", "ROLE", "TAKES", "FITS"], rows));
    for host in assessment.hosts.iter().filter(|host| open(&host.validations).next().is_some()) {
        let why: Vec<_> = open(&host.validations)
            .map(|each| {
                let found =
                    [("found", &each.message), ("measured", &each.measured), ("required", &each.required)];
                let found = found.into_iter().chain([("what to do", &each.remedy)]);
                let told: Vec<_> = found
                    .filter(|(_, fact)| !fact.is_empty())
                    .map(|(name, fact)| (name, fact.clone()))
                    .collect();
                format!("{}\n{}", each.id, indented(&facts(&told)))
            })
            .collect();
        text = format!("{text}\n\n{} does not fit:\n{}", name(host), indented(&why.join("\n")));
    }
    text
}

fn name(host: &OperatorHostAssessment) -> String {
    if host.hostname.is_empty() { host.id.to_string() } else { host.hostname.clone() }
}
