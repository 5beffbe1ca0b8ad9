//! The operators as the reference lists them: its tables are read, not copied.

use std::collections::{BTreeMap, BTreeSet};

use assisted_wire::own_operators::OWN_OPERATORS;
use serde_json::Value;

use super::definition::Subscribed;
use super::*;
use crate::model::facts::Facts;
use crate::policy::Policy;
use crate::validation::testing::facts;

const VALIDATIONS: &str = include_str!("../../../../../docs/reference/validations.md");
const REFERENCE: &str = include_str!("../../../../../docs/reference/operators.md");

mod coverage;
mod fields;
mod settings;
mod setup;

/// The rows of the table below a heading, of which the header begins with a word; cells without blanks around them.
fn table(document: &str, heading: &str, first: &str) -> Vec<Vec<String>> {
    rows(document.split(heading).nth(1).unwrap(), first)
}

/// The rows of a section's first table whose header begins with a word.
fn rows(section: &str, first: &str) -> Vec<Vec<String>> {
    let lines = section.lines().skip_while(|line| !line.starts_with(&format!("| {first}")));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(cells).collect()
}

/// What stands between backquotes.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The operators that the reference has: its tables list no others.
fn published() -> impl Iterator<Item = &'static Operator> {
    OPERATORS.iter().filter(|operator| operator.is_published())
}

#[test]
fn each_is_whole_and_there_once() {
    let names: BTreeSet<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    assert_eq!((published().count(), names.len()), (28, OPERATORS.len()));
    let features: BTreeSet<_> = OPERATORS.iter().map(|operator| operator.feature().as_str()).collect();
    assert_eq!(features.len(), OPERATORS.len());
    for own in OWN_OPERATORS {
        let operator = find(own.name).unwrap_or_else(|| {
            panic!("{} is not among OPERATORS (docs/recipes.md, an operator, step 3)", own.name)
        });
        assert_eq!(
            (operator.feature().as_str(), operator.host.as_str()),
            (own.feature, own.validation),
            "{}",
            own.name
        );
    }
    for operator in OPERATORS {
        let name = operator.name;
        assert_eq!(operator.host.as_str(), operator.cluster.as_str(), "{name}");
        assert_eq!(operator.disabled, format!("{name} is disabled"));
        for text in [
            operator.full_name,
            operator.namespace,
            operator.subscription,
            operator.rule.name,
            operator.package.files,
        ] {
            assert!(!text.is_empty(), "{name}");
        }
        for needed in operator.all_dependencies() {
            assert!(find(needed).is_some(), "{name} needs {needed}");
        }
    }
    assert_eq!(find("ocs").unwrap().name, "odf");
}

#[test]
fn names_limits_and_dependencies_are_those_of_the_reference() {
    let rows = table(VALIDATIONS, "### 8.1 ", "Name");
    assert_eq!(rows.len(), published().count());
    for row in rows {
        let operator = find(code(&row[0])[0]).unwrap();
        let name = operator.name;
        assert_eq!(operator.namespace, code(&row[1])[0], "{name}");
        assert_eq!(operator.subscription, code(&row[2])[0], "{name}");
        assert_eq!(operator.timeout_seconds.to_string(), row[3], "{name}");
        let needed: Vec<_> = row[4].split(", ").map(|each| each.replace(" (SNO only)", "")).collect();
        let needed: Vec<_> = needed.iter().map(String::as_str).filter(|each| *each != "-").collect();
        assert_eq!(operator.all_dependencies().collect::<Vec<_>>(), needed, "{name}");
        let of_bundle = bundle::BUNDLES.iter().any(|bundle| {
            let lists = [bundle.required(false), bundle.required(true), bundle.optional()];
            lists.iter().any(|list| list.contains(&name))
        });
        assert_eq!(of_bundle, row[5] != "-", "{name}");
        assert!(
            code(&row[6])[0].starts_with(operator.host.as_str().trim_end_matches("requirements-satisfied"))
        );
    }
}

#[test]
fn full_names_are_those_of_the_reference() {
    let listed = REFERENCE.split("Full names (").nth(1).unwrap().lines().next().unwrap();
    for operator in published() {
        let named = format!(" {} `{}`", operator.name, operator.full_name);
        assert!(listed.contains(&named), "{named}");
    }
}

#[test]
fn bundles_are_those_of_the_reference() {
    for row in table(VALIDATIONS, "### 8.5 ", "id") {
        let bundle = bundle::find(code(&row[0])[0]).unwrap();
        assert_eq!((bundle.title, bundle.description), (code(&row[1])[0], code(&row[2])[0]));
        let lists: Vec<_> =
            row[3].split("; SNO: ").map(|list| list.trim_start_matches("not SNO: ")).collect();
        let of_reference = |members: Vec<&str>| {
            let published = members.into_iter().filter(|name| find(name).unwrap().is_published());
            published.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(of_reference(bundle.required(false)), lists[0]);
        assert_eq!(of_reference(bundle.required(true)), *lists.last().unwrap());
        assert_eq!(of_reference(bundle.optional()), row[4].trim_matches('-'));
    }
}

/// Every object that is installed with a cluster, by the name of its file.
fn manifests_of(facts: &Facts) -> BTreeMap<String, Value> {
    subscription::manifests(&ClusterView::of(facts).unwrap()).into_iter().collect()
}

/// The same of a cluster that has all operators.
fn manifests(version: &str) -> BTreeMap<String, Value> {
    let names: Vec<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    let mut facts = facts(3).with_operators(&names);
    version.clone_into(&mut facts.test_cluster().openshift_version);
    manifests_of(&facts)
}

/// What brings an operator into a cluster, against its row of the reference.
fn is_brought(operator: &Operator, subscribed: &Subscribed, all: &BTreeMap<String, Value>, row: &[String]) {
    let name = &row[0];
    let [namespace, group, subscription] =
        subscribed.package.file_names.of().map(|end| format!("{}{end}.yaml", subscribed.package.files));
    let spec = &all[&subscription]["spec"];
    assert_eq!(all[&subscription]["metadata"]["name"], subscribed.name, "{name}");
    assert_eq!(all[&subscription]["metadata"]["namespace"], subscribed.namespace, "{name}");
    assert_eq!(spec["name"], code(&row[1])[0], "{name}");
    assert_eq!(spec.get("channel").and_then(Value::as_str), code(&row[2]).first().copied(), "{name}");
    let source = code(&row[3]).first().copied().unwrap_or("redhat-operators");
    assert_eq!(spec["source"], source, "{name}");
    assert_eq!(spec.get("installPlanApproval").is_none(), row[3].contains("approval –"), "{name}");
    // A variant says only what is its own.
    let (of_namespace, of_group) = match (row[4].as_str(), row[5].as_str()) {
        ("as odf", _) => ("M", "`openshift-storage-operatorgroup`: own".to_owned()),
        (namespace, group) if group.starts_with("same name") => {
            (namespace, format!("`{}`: own", operator.package.group.unwrap().name))
        }
        (namespace, group) => (namespace, group.to_owned()),
    };
    let object = all.get(&namespace);
    assert_eq!(object.is_none(), of_namespace == "none", "{name}");
    if let Some(object) = object {
        assert_eq!(object["metadata"]["name"], subscribed.namespace, "{name}");
        let monitored = object["metadata"]["labels"]["openshift.io/cluster-monitoring"] == "true";
        assert_eq!(monitored, of_namespace.starts_with('M'), "{name}");
    }
    let object = all.get(&group);
    assert_eq!(object.is_none(), of_group == "none", "{name}");
    if let Some(object) = object {
        let cells = code(&of_group);
        assert_eq!(object["metadata"]["name"], cells[0], "{name}");
        assert_eq!(object["metadata"]["namespace"], subscribed.namespace, "{name}");
        let own = object["spec"]["targetNamespaces"] == serde_json::json!([subscribed.namespace]);
        assert_eq!(own, of_group.contains(": own"), "{name}");
        let says_strategy = object["spec"]["upgradeStrategy"] == "Default";
        assert_eq!(
            says_strategy,
            of_group.contains("all+D") || of_group.contains("upgradeStrategy"),
            "{name}"
        );
        let annotation =
            cells.iter().find_map(|text| text.split_once(": ").filter(|(key, _)| key.starts_with("olm.")));
        let found = object["metadata"]["annotations"].as_object().into_iter().flatten().next();
        assert_eq!(found.map(|(key, value)| (key.as_str(), value.as_str().unwrap())), annotation, "{name}");
    }
}

#[test]
fn subscriptions_namespaces_and_groups_are_those_of_the_reference() {
    let mut seen = 0;
    for row in table(REFERENCE, "### 3.1 ", "Operator") {
        let name = row[0].split([' ', ',']).next().unwrap();
        let operator = find(name).unwrap();
        let mut facts = facts(3).with_operators(&[name]);
        let mut policy = Policy::default();
        policy.operators.cnv_mode = !row[0].contains("CNV_MODE=false");
        let version = if row[0].contains("4.8") { "4.8.12" } else { "4.20.1" };
        version.clone_into(&mut facts.test_cluster().openshift_version);
        let subscribed = operator.subscribed(version, &policy.operators);
        is_brought(operator, &subscribed, &manifests_of(&Facts { policy: policy.into(), ..facts }), &row);
        seen += 1;
    }
    assert_eq!(seen, published().count() + 2, "two have a variant");
}

/// The names of files as a cell tells them: a beginning, ends, and what one operator has besides.
fn files(cell: &str) -> Vec<String> {
    let parts = code(cell);
    let (prefix, ends) = parts.split_first().unwrap();
    let ends = ends.iter().filter(|end| **end != ".yaml");
    ends.map(|end| format!("{prefix}{end}.yaml")).collect()
}

#[test]
fn files_are_called_as_in_the_reference() {
    let all = manifests("4.20.1");
    let (mut seen, mut seven) = (0, BTreeSet::<String>::new());
    for row in table(REFERENCE, "### 3.2 ", "Operator") {
        let only = row[1].split(';').next().unwrap();
        for name in row[0].split(", ") {
            let operator = find(name).unwrap();
            let begins = operator.package.files;
            let own: BTreeSet<&str> =
                all.keys().filter(|file| file.starts_with(begins)).map(String::as_str).collect();
            // One row speaks of several operators by a placeholder, one by several beginnings, and two name whole files.
            let cell = only.replace("<op>", name);
            let listed: BTreeSet<String> = match cell {
                cell if cell.contains(".yaml`") && !cell.contains("` + `") => code(&cell)
                    .into_iter()
                    .filter(|file| file.starts_with(begins))
                    .map(str::to_owned)
                    .collect(),
                cell if cell.starts_with("`50_` + ") => ["namespace", "operatorgroup", "subscription"]
                    .map(|end| format!("{begins}{end}.yaml"))
                    .into(),
                cell if cell.contains("the same seven") => {
                    seven.iter().map(|file| file.replace("50_kmm_", begins)).collect()
                }
                cell => files(&cell).into_iter().collect(),
            };
            if name == "kmm" {
                seven.clone_from(&listed);
            }
            // Made for a single node of an old version alone.
            let listed: BTreeSet<&str> =
                listed.iter().map(String::as_str).filter(|file| !file.contains("hpp_sc")).collect();
            assert_eq!(own, listed, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, published().count());
}

#[test]
fn old_versions_have_other_files() {
    let all = manifests("4.11.3");
    assert_eq!(all["50_openshift-lvm_subscription.yaml"]["spec"]["name"], "odf-lvm-operator");
    let predecessor = manifests("4.8.12");
    for file in files(
        REFERENCE
            .split("; 4.8: ")
            .nth(1)
            .unwrap()
            .split(" |")
            .next()
            .unwrap()
            .replace(" + the same", " + `ns`, `operator_group`, `subscription`")
            .as_str(),
    ) {
        assert!(predecessor.contains_key(&file), "{file}");
    }
    assert!(!predecessor.keys().any(|file| file.starts_with("50_openshift-odf_")));
    let mut facts = facts(1).with_operators(&["cnv"]);
    let cluster = facts.test_cluster();
    cluster.control_plane_count = 1;
    "4.10.3".clone_into(&mut cluster.openshift_version);
    let view = ClusterView::of(&facts).unwrap();
    let single: BTreeMap<_, _> = subscription::manifests(&view).into_iter().collect();
    assert_eq!(single["50_openshift-cnv_hpp_sc.yaml"]["metadata"]["name"], "sno-storage");
    assert_eq!(subscription::objects(&view)[0].documents.len(), 2);
}
