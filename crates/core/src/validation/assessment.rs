//! What each operator means for a cluster that has it, or would mean for one that doesn't: judged by the same checks as the
//! validations of a cluster that has it.

use assisted_wire::cluster::Cluster;
use assisted_wire::operator::{MonitoredOperator, OperatorCreateParams, OperatorType};
use assisted_wire::operator_assessment::{
    OperatorAssessment, OperatorAssessmentList, OperatorHostAssessment,
};
use assisted_wire::validation::{Validation, ValidationStatus, help};

use super::host::EvaluationError;
use super::{Category, Scope, cluster, host};
use crate::catalogue::feature::{Target, level};
use crate::catalogue::hardware::SelectionInput;
use crate::catalogue::operators::selection::{self, SelectionContext};
use crate::catalogue::operators::{self, HostView, Operator, by_name, find, is_selected};
use crate::model::facts::Facts;
use crate::model::topology;
use crate::policy;

/// All operators, or the one of a name, for the cluster of some facts; empty without a cluster.
pub fn assess(facts: &Facts, name: Option<&str>) -> OperatorAssessmentList {
    let wanted = match name {
        Some(name) => find(name).into_iter().collect(),
        None => by_name(),
    };
    // Large facts are shared by their hosts, so that one copy serves for all operators.
    let mut supposed = facts.clone();
    let all = wanted.into_iter().filter_map(|operator| {
        let record = facts.cluster.as_ref()?;
        let adds = missing(&record.cluster, operator);
        let kept = supposed.cluster.as_mut()?;
        kept.cluster.monitored_operators.clone_from(&record.cluster.monitored_operators);
        kept.cluster.monitored_operators.get_or_insert_default().extend(adds.iter().map(|name| row(name)));
        Some(of_operator(&record.cluster, &supposed, operator, &adds))
    });
    OperatorAssessmentList(all.collect())
}

/// A row as far as checks look at it.
fn row(name: &str) -> MonitoredOperator {
    let operator_type = Some(OperatorType::Olm);
    MonitoredOperator { name: name.to_owned(), operator_type, ..MonitoredOperator::default() }
}

/// The operator, and those that it needs, as far as the cluster hasn't them: what is asked for first.
fn missing(cluster: &Cluster, operator: &Operator) -> Vec<&'static str> {
    let single_node = topology::is_single_node(cluster);
    let mut all: Vec<&'static str> = find(operator.name).map(|operator| operator.name).into_iter().collect();
    let mut index = 0;
    while let Some(known) = all.get(index).and_then(|name| find(name)) {
        let needed: Vec<_> = known.dependencies(single_node).filter(|name| !all.contains(name)).collect();
        all.extend(needed);
        index += 1;
    }
    all.retain(|name| !is_selected(cluster, name));
    all
}

/// Why the operator can't be selected besides those that were asked for; empty: it can.
fn refusal(cluster: &Cluster, policy: &policy::Operators, operator: &Operator) -> String {
    let kept = cluster.monitored_operators.iter().flatten();
    let kept = kept.filter(|row| row.operator_type == Some(OperatorType::Olm) && !row.dependency_only);
    let names = kept.map(|row| row.name.as_str()).chain([operator.name]);
    let params: Vec<_> =
        names.map(|name| OperatorCreateParams { name: name.to_owned(), properties: String::new() }).collect();
    let selected = selection::select(SelectionContext::of(cluster, policy), &params, &[]);
    selected.err().map(|refusal| refusal.reason).unwrap_or_default()
}

/// `supposed`: the facts, with the operator and those that it adds.
fn of_operator(
    cluster: &Cluster,
    supposed: &Facts,
    operator: &Operator,
    adds: &[&'static str],
) -> OperatorAssessment {
    let own = cluster.monitored_operators.iter().flatten().find(|row| row.name == operator.name);
    let selected = is_selected(cluster, operator.name);
    let platform = cluster.platform.as_ref();
    let SelectionContext { version, architecture, .. } =
        SelectionContext::of(cluster, &supposed.policy.operators);
    let external = platform.and_then(|platform| platform.external.as_ref());
    let target = Target {
        platform: platform.map(|platform| platform.r#type),
        external_platform: external
            .and_then(|external| external.platform_name.as_deref())
            .unwrap_or_default(),
        ..Target::new(version, architecture)
    };
    let support = level(operator.feature(), &target);
    let scope = Scope::new(supposed);
    let hosts = supposed.hosts.iter().map(|each| {
        let view = HostView::of(&SelectionInput::of(supposed, each));
        let extra = view.map(|view| operators::requirement(operator, &view)).unwrap_or_default();
        OperatorHostAssessment {
            id: each.record.host.id,
            hostname: each.name(),
            role: each.effective_role(),
            cpu_cores: extra.cpu_cores,
            ram_mib: extra.ram_mib,
            validations: match host::evaluate_operator(&scope, each, operator) {
                Ok(results) => results.explained().0,
                Err(error) => vec![unknown(operator, &error)],
            },
        }
    });
    OperatorAssessment {
        name: operator.name.to_owned(),
        selected,
        dependency_only: own.is_some_and(|row| row.dependency_only),
        support_level: support.level,
        reason: support.reason,
        adds: adds.iter().filter(|name| **name != operator.name).map(|name| (*name).to_owned()).collect(),
        refusal: if selected {
            String::new()
        } else {
            refusal(cluster, &supposed.policy.operators, operator)
        },
        validations: cluster::evaluate_operator(&scope, operator).explained().0,
        hosts: hosts.collect(),
    }
}

/// What is said of a host of which too little is known to judge it.
fn unknown(operator: &Operator, error: &EvaluationError) -> Validation {
    Validation {
        id: operator.host.as_str().to_owned(),
        category: Category::Operators,
        status: ValidationStatus::Error,
        message: error.to_string(),
        measured: String::new(),
        required: String::new(),
        remedy: "Boot the host from a new discovery image, whose agent fits this service.".to_owned(),
        help: help(operator.host.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostRole::{Master, Worker};
    use assisted_wire::support_level::SupportLevel;

    use super::*;
    use crate::validation::testing::{facts, inventory};

    /// A cluster whose last worker is too small for much.
    fn cluster(operators: &[&str]) -> Facts {
        let flags = Some(vec!["vmx".to_owned()]);
        let machine = inventory().with(|inventory| inventory.cpu.as_mut().unwrap().flags = flags);
        let mut facts = facts(5).with_inventory(&machine.clone()).with_operators(operators);
        facts = facts.with_roles(&[Master, Master, Master, Worker, Worker]);
        facts.hosts[4].inventory = Some(std::sync::Arc::new(machine.cores(2).memory_mib(8 << 10).build()));
        facts
    }

    fn one(facts: &Facts, name: &str) -> OperatorAssessment {
        assess(facts, Some(name)).0.pop().unwrap()
    }

    fn failing(host: &OperatorHostAssessment) -> Vec<&str> {
        let failing = host.validations.iter().filter(|each| each.status == ValidationStatus::Failure);
        failing.map(|each| each.id.as_str()).collect()
    }

    #[test]
    fn what_would_be_added_and_who_fails() {
        let facts = cluster(&[]);
        let cnv = one(&facts, "cnv");
        assert!(!cnv.selected && cnv.adds.is_empty() && cnv.refusal.is_empty());
        let takes: Vec<_> = cnv.hosts.iter().map(|host| (host.cpu_cores, host.ram_mib)).collect();
        assert_eq!(takes, [(4, 150), (4, 150), (4, 150), (2, 360), (2, 360)]);
        assert!(cnv.hosts[..4].iter().all(|host| failing(host).is_empty()), "{cnv:?}");
        assert_eq!(failing(&cnv.hosts[4]), ["has-cpu-cores-for-role", "has-memory-for-role"]);
        let told = &cnv.hosts[4].validations[0];
        assert!(!told.measured.is_empty() && !told.required.is_empty() && !told.remedy.is_empty());
        // Without it nobody is too small.
        assert!(one(&facts, "pipelines").hosts.iter().all(|host| failing(host).is_empty()));
        let mtv = one(&facts, "mtv");
        assert_eq!(mtv.adds, ["cnv"]);
        let odf = one(&facts, "odf");
        assert_eq!(odf.adds, ["lso"]);
        assert_eq!(odf.validations[0].status, ValidationStatus::Failure);
    }

    #[test]
    fn what_a_cluster_has_is_judged_as_its_validations_do() {
        let facts = cluster(&["cnv", "odf", "lso"]);
        let own = one(&facts, "cnv");
        assert!(own.selected && own.adds.is_empty());
        let judged = host::evaluate(&facts, &facts.hosts[4]).unwrap();
        for each in &own.hosts[4].validations {
            let same = judged.explained().0.into_iter().find(|other| other.id == each.id).unwrap();
            assert_eq!(*each, same);
        }
        assert_eq!(assess(&facts, None).0.len(), operators::OPERATORS.len());
        assert!(assess(&facts, Some("nothing")).0.is_empty());
    }

    #[test]
    fn what_would_be_refused() {
        let old =
            cluster(&["lvm"]).with_cluster(|cluster| "4.14.3".clone_into(&mut cluster.openshift_version));
        assert_eq!(
            one(&old, "cnv").refusal,
            "Logical Volume Manager is only supported for highly available openshift with version 4.15.0 or above"
        );
        let arm = cluster(&[]).with_cluster(|cluster| {
            cluster.cpu_architecture = Some(assisted_wire::cluster_params::CpuArchitecture::Arm64);
        });
        let odf = one(&arm, "odf");
        assert_eq!(odf.support_level, SupportLevel::Unavailable);
        assert!(odf.refusal.contains("is not available when arm64 CPU architecture is selected"), "{odf:?}");
        // A host that has reported too little is no reason to say nothing of the others.
        let odd = cluster(&[]).with_host(|host| {
            host.inventory =
                Some(std::sync::Arc::new(inventory().with(|inventory| inventory.memory = None).build()));
        });
        let told = one(&odd, "cnv");
        assert_eq!(told.hosts[0].validations[0].status, ValidationStatus::Error);
        assert_eq!(told.hosts.len(), 5);
    }
}
