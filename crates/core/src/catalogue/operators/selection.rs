//! Which operators a request selects for a cluster (service-api §9).

use assisted_base::version::{at_least, below};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::id::ClusterId;
use assisted_wire::operator::{BundleCreateParams, MonitoredOperator, OperatorCreateParams, OperatorType};
use assisted_wire::time::DateTime;
use serde_json::{Map, Value};

use super::{BUILTIN_TIMEOUT_SECONDS, bundle, find};
use crate::catalogue::feature::rule::Target;
use crate::model::refusal::Refusal;
use crate::policy;

/// The cluster that operators are selected for.
#[derive(Clone, Copy, Debug)]
pub struct SelectionContext<'a> {
    pub cluster_id: ClusterId,
    pub version: &'a str,
    pub architecture: CpuArchitecture,
    pub single_node: bool,
    pub policy: &'a policy::Operators,
}

impl<'a> SelectionContext<'a> {
    /// A cluster as it is.
    pub fn of(cluster: &'a Cluster, policy: &'a policy::Operators) -> Self {
        Self {
            cluster_id: cluster.id,
            version: &cluster.openshift_version,
            architecture: cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664),
            single_node: cluster.control_plane_count == 1,
            policy,
        }
    }
}

/// The built-in operators of a new cluster.
pub fn builtin(cluster_id: ClusterId, check_cluster_version: bool) -> Vec<MonitoredOperator> {
    super::builtin(check_cluster_version)
        .map(|name| MonitoredOperator {
            cluster_id: Some(cluster_id),
            name: name.to_owned(),
            operator_type: Some(OperatorType::Builtin),
            timeout_seconds: BUILTIN_TIMEOUT_SECONDS,
            ..MonitoredOperator::default()
        })
        .collect()
}

/// The operators that bundles and single names select, with those that they need.
///
/// # Errors
///
/// `Invalid` for a name that is not known, or for operators that don't go together or not with the cluster.
pub fn select(
    cluster: SelectionContext<'_>,
    operators: &[OperatorCreateParams],
    bundles: &[BundleCreateParams],
) -> Result<Vec<MonitoredOperator>, Refusal> {
    let mut selected: Vec<MonitoredOperator> = Vec::new();
    for params in bundles {
        let bundle = bundle::find(&params.id)
            .ok_or_else(|| Refusal::invalid(format!("bundle '{}' is not supported", params.id)))?;
        let optional: Vec<&str> = params.optional_operators.iter().flatten().map(String::as_str).collect();
        if let Some(name) = optional.iter().find(|name| !bundle.optional().contains(*name)) {
            return Err(Refusal::invalid(format!(
                "operator '{name}' is not a valid optional operator for bundle '{}'",
                bundle.id
            )));
        }
        // A registration always takes the members for several nodes, whatever the cluster (service-api §9).
        for name in bundle.required(false).iter().chain(&optional) {
            let row = find_or_add(cluster, &mut selected, name)?;
            let sources = row.source_bundles.get_or_insert_default();
            if !sources.iter().any(|source| source == bundle.id) {
                sources.push(bundle.id.to_owned());
            }
        }
    }
    for params in operators {
        let row = find_or_add(cluster, &mut selected, &params.name)?;
        check_properties(&params.name, &params.properties)?;
        row.properties.clone_from(&params.properties);
        row.source_bundles = None;
    }
    add_dependencies(cluster, &mut selected)?;
    check(cluster, &selected)?;
    Ok(selected)
}

/// No operator has properties (operators §2.1), so that none can be given: an empty text and an empty object say the same.
fn check_properties(operator: &str, properties: &str) -> Result<(), Refusal> {
    if properties.trim().is_empty() {
        return Ok(());
    }
    let Ok(given) = serde_json::from_str::<Option<Map<String, Value>>>(properties) else {
        return Err(Refusal::invalid(format!("properties of operator {operator} are not a JSON object")));
    };
    match given.unwrap_or_default().keys().next() {
        Some(name) => Err(Refusal::invalid(format!("operator {operator} has no property '{name}'"))),
        None => Ok(()),
    }
}

fn find_or_add<'s>(
    cluster: SelectionContext<'_>,
    selected: &'s mut Vec<MonitoredOperator>,
    name: &str,
) -> Result<&'s mut MonitoredOperator, Refusal> {
    let operator = find(name).ok_or_else(|| Refusal::invalid(format!("operator {name} isn't supported")))?;
    let index = match selected.iter().position(|row| row.name == operator.name) {
        Some(index) => index,
        None => {
            let subscribed = operator.subscribed(cluster.version, cluster.policy);
            selected.push(MonitoredOperator {
                cluster_id: Some(cluster.cluster_id),
                name: operator.name.to_owned(),
                namespace: subscribed.namespace.to_owned(),
                subscription_name: subscribed.name.to_owned(),
                operator_type: Some(OperatorType::Olm),
                timeout_seconds: operator.timeout_seconds(cluster.policy),
                status_updated_at: DateTime::ZERO,
                ..MonitoredOperator::default()
            });
            selected.len() - 1
        }
    };
    Ok(&mut selected[index])
}

fn add_dependencies(
    cluster: SelectionContext<'_>,
    selected: &mut Vec<MonitoredOperator>,
) -> Result<(), Refusal> {
    // The list grows while it is walked, so dependencies of dependencies are found too; each is added once.
    let mut index = 0;
    while let Some(row) = selected.get(index) {
        let needed: Vec<_> =
            find(&row.name).into_iter().flat_map(|o| o.dependencies(cluster.single_node)).collect();
        for name in needed {
            if !selected.iter().any(|row| row.name == name) {
                find_or_add(cluster, selected, name)?.dependency_only = true;
            }
        }
        index += 1;
    }
    Ok(())
}

fn check(cluster: SelectionContext<'_>, selected: &[MonitoredOperator]) -> Result<(), Refusal> {
    let has = |name: &str| selected.iter().any(|row| row.name == name);
    if has("lvm") && has("cnv") && !at_least(cluster.version, 4, 15) {
        if below(cluster.version, 4, 12) {
            return Err(Refusal::invalid(
                "Currently, you can not install Logical Volume Manager operator at the same time as Virtualization operator.",
            ));
        }
        if !cluster.single_node {
            return Err(Refusal::invalid(
                "Logical Volume Manager is only supported for highly available openshift with version 4.15.0 or above",
            ));
        }
    }
    let target = Target::new(cluster.version, cluster.architecture);
    let unavailable: Vec<_> = selected
        .iter()
        .filter_map(|row| find(&row.name))
        .filter(|operator| operator.rule.excludes_architecture(&target))
        .map(|operator| operator.full_name)
        .collect();
    if unavailable.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "{} is not available when {} CPU architecture is selected",
        unavailable.join(", "),
        target.architecture
    )))
}

/// The bundles that a cluster's operators came from, sorted, with the optional operators chosen.
pub fn bundles_of(operators: &[MonitoredOperator]) -> Vec<BundleCreateParams> {
    let comes_from = |id: &str| {
        let id = id.to_owned();
        move |row: &&MonitoredOperator| row.source_bundles.iter().flatten().any(|source| *source == id)
    };
    let mut bundles: Vec<_> = bundle::BUNDLES
        .iter()
        .filter(|bundle| operators.iter().any(|row| comes_from(bundle.id)(&row)))
        .map(|bundle| {
            let optional = operators.iter().filter(comes_from(bundle.id)).map(|row| row.name.clone());
            let optional = optional.filter(|name| bundle.optional().contains(&name.as_str())).collect();
            BundleCreateParams { id: bundle.id.to_owned(), optional_operators: Some(optional) }
        })
        .collect();
    bundles.sort_by(|a, b| a.id.cmp(&b.id));
    bundles
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static POLICY: LazyLock<policy::Operators> = LazyLock::new(policy::Operators::default);

    fn cluster(version: &str) -> SelectionContext<'_> {
        SelectionContext {
            cluster_id: ClusterId::default(),
            version,
            architecture: CpuArchitecture::X8664,
            single_node: false,
            policy: &POLICY,
        }
    }

    fn named(names: &[&str]) -> Vec<OperatorCreateParams> {
        let params =
            |name: &&str| OperatorCreateParams { name: (*name).to_owned(), properties: String::new() };
        names.iter().map(params).collect()
    }

    fn bundle(id: &str, optional: &[&str]) -> Vec<BundleCreateParams> {
        let optional = optional.iter().map(|name| (*name).to_owned()).collect();
        vec![BundleCreateParams { id: id.to_owned(), optional_operators: Some(optional) }]
    }

    fn names(rows: &[MonitoredOperator]) -> Vec<(&str, bool)> {
        rows.iter().map(|row| (row.name.as_str(), row.dependency_only)).collect()
    }

    #[test]
    fn dependencies_are_added_once_and_marked() {
        let rows = select(cluster("4.22.9"), &named(&["amd-gpu", "osc", "ocs"]), &[]).unwrap();
        assert_eq!(
            names(&rows),
            [
                ("amd-gpu", false),
                ("osc", false),
                ("odf", false),
                ("node-feature-discovery", true),
                ("kmm", true),
                ("lso", true)
            ]
        );
        let rows = select(cluster("4.22.9"), &named(&["cluster-observability"]), &[]).unwrap();
        assert_eq!(
            names(&rows),
            [("cluster-observability", false), ("openshift-logging", true), ("loki", true)]
        );
    }

    #[test]
    fn a_single_node_needs_other_storage() {
        let cluster = SelectionContext { single_node: true, ..cluster("4.22.9") };
        let rows = select(cluster, &named(&["openshift-ai"]), &[]).unwrap();
        assert_eq!(names(&rows), [("openshift-ai", false), ("lvm", true)]);
    }

    #[test]
    fn bundles_are_expanded_and_found_again() {
        let rows =
            select(cluster("4.22.9"), &named(&["odf"]), &bundle("openshift-ai", &["nvidia-gpu"])).unwrap();
        let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
        assert_eq!(row("odf").source_bundles, None);
        assert_eq!(row("authorino").source_bundles.as_deref(), Some(&["openshift-ai".to_owned()][..]));
        assert!(row("lso").dependency_only);
        assert_eq!(bundles_of(&rows), bundle("openshift-ai", &["nvidia-gpu"]));
    }

    #[test]
    fn operators_have_no_properties() {
        let with = |properties: &str| {
            let params = OperatorCreateParams { name: "odf".to_owned(), properties: properties.to_owned() };
            select(cluster("4.22.9"), &[params], &[]).map(drop).map_err(|refusal| refusal.reason)
        };
        for nothing in ["", " ", "{}", "null"] {
            assert_eq!(with(nothing), Ok(()), "{nothing:?}");
        }
        let refused = |properties, text: &str| assert_eq!(with(properties), Err(text.to_owned()));
        refused(r#"{"size": 3}"#, "operator odf has no property 'size'");
        refused("[]", "properties of operator odf are not a JSON object");
        refused("size=3", "properties of operator odf are not a JSON object");
    }

    #[test]
    fn subscriptions_depend_on_version_and_policy() {
        let row = |cluster: SelectionContext<'_>, name: &str| {
            let row = select(cluster, &named(&[name]), &[]).unwrap().swap_remove(0);
            (row.namespace, row.subscription_name)
        };
        let pair = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
        assert_eq!(row(cluster("4.8.12"), "odf"), pair("openshift-storage", "ocs-operator"));
        assert_eq!(row(cluster("4.9.0"), "odf"), pair("openshift-storage", "odf-operator"));
        assert_eq!(row(cluster("4.11.3"), "lvm"), pair("openshift-storage", "odf-lvm-operator"));
        assert_eq!(row(cluster("4.12.0"), "lvm"), pair("openshift-storage", "lvms-operator"));
        let limits = |policy: &policy::Operators| {
            let cluster = SelectionContext { policy, ..cluster("4.22.9") };
            let rows = select(cluster, &named(&["lso", "odf"]), &[]).unwrap();
            rows.iter().map(|row| row.timeout_seconds).collect::<Vec<_>>()
        };
        assert_eq!(limits(&POLICY), [4200, 1800]);
        let operator_timeout = std::time::Duration::from_secs(30);
        assert_eq!(limits(&policy::Operators { operator_timeout, ..policy::Operators::default() }), [30, 30]);
        let community = policy::Operators { cnv_mode: false, ..policy::Operators::default() };
        let cluster = SelectionContext { policy: &community, ..cluster("4.22.9") };
        assert_eq!(row(cluster, "cnv"), pair("kubevirt-hyperconverged", "hco-operatorhub"));
    }

    #[test]
    fn refusals() {
        let text = |cluster, operators: &[&str], bundles: &[BundleCreateParams]| {
            select(cluster, &named(operators), bundles).unwrap_err().reason
        };
        let arm = SelectionContext { architecture: CpuArchitecture::Aarch64, ..cluster("4.22.9") };
        for (found, expected) in [
            (text(cluster("4.22.9"), &[], &bundle("x", &[])), "bundle 'x' is not supported"),
            (
                text(cluster("4.22.9"), &[], &bundle("openshift-ai", &["cnv"])),
                "operator 'cnv' is not a valid optional operator for bundle 'openshift-ai'",
            ),
            (text(cluster("4.22.9"), &["nothing"], &[]), "operator nothing isn't supported"),
            (text(cluster("4.22.9"), &["console"], &[]), "operator console isn't supported"),
            (
                text(cluster("4.11.0"), &["lvm", "cnv"], &[]),
                "Currently, you can not install Logical Volume Manager operator at the same time as Virtualization operator.",
            ),
            (
                text(cluster("4.14.0"), &["lvm", "cnv"], &[]),
                "Logical Volume Manager is only supported for highly available openshift with version 4.15.0 or above",
            ),
            (
                text(arm, &["odf"], &[]),
                "OpenShift Data Foundation, Local Storage Operator is not available when arm64 CPU architecture is selected",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
