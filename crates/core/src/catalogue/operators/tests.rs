//! The operators as the reference lists them: its tables are read, not copied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::*;
use crate::validation::testing::facts;

const VALIDATIONS: &str = include_str!("../../../../../docs/reference/validations.md");
const REFERENCE: &str = include_str!("../../../../../docs/reference/operators.md");

/// The rows of the table below a heading, of which the header begins with a word; cells without blanks around them.
fn table(document: &str, heading: &str, first: &str) -> Vec<Vec<String>> {
    let section = document.split(heading).nth(1).unwrap();
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

#[test]
fn each_is_whole_and_there_once() {
    let names: BTreeSet<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    assert_eq!((OPERATORS.len(), names.len()), (28, 28));
    let features: BTreeSet<_> = OPERATORS.iter().map(|operator| operator.feature().as_str()).collect();
    assert_eq!(features.len(), 28);
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
    assert_eq!(find("lvm").unwrap().subscription("4.11.3"), "odf-lvm-operator");
    assert_eq!(find("lvm").unwrap().subscription("4.12.0"), "lvms-operator");
}

#[test]
fn names_limits_and_dependencies_are_those_of_the_reference() {
    let rows = table(VALIDATIONS, "### 8.1 ", "Name");
    assert_eq!(rows.len(), OPERATORS.len());
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
    for operator in OPERATORS {
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
        assert_eq!(bundle.required(false).join(", "), lists[0]);
        assert_eq!(bundle.required(true).join(", "), *lists.last().unwrap());
        assert_eq!(bundle.optional().join(", "), row[4].trim_matches('-'));
    }
}

/// Every object that is installed with a cluster that has all operators, by the name of its file.
fn manifests(version: &str) -> BTreeMap<String, Value> {
    let names: Vec<_> = OPERATORS.iter().map(|operator| operator.name).collect();
    let mut facts = facts(3).with_operators(&names);
    version.clone_into(&mut facts.test_cluster().openshift_version);
    subscription::manifests(&ClusterView::of(&facts).unwrap()).into_iter().collect()
}

#[test]
fn subscriptions_namespaces_and_groups_are_those_of_the_reference() {
    let all = manifests("4.20.1");
    for row in table(REFERENCE, "### 3.1 ", "Operator") {
        let Some(operator) = find(&row[0]).filter(|_| !row[0].contains(' ')) else { continue };
        let name = operator.name;
        let [namespace, group, subscription] =
            operator.package.file_names.of().map(|end| format!("{}{end}.yaml", operator.package.files));
        let spec = &all[&subscription]["spec"];
        assert_eq!(all[&subscription]["metadata"]["name"], operator.subscription, "{name}");
        assert_eq!(all[&subscription]["metadata"]["namespace"], operator.namespace, "{name}");
        assert_eq!(spec["name"], code(&row[1])[0], "{name}");
        assert_eq!(spec.get("channel").and_then(Value::as_str), code(&row[2]).first().copied(), "{name}");
        let source = code(&row[3]).first().copied().unwrap_or("redhat-operators");
        assert_eq!(spec["source"], source, "{name}");
        assert_eq!(spec.get("installPlanApproval").is_none(), row[3].contains("approval –"), "{name}");
        let object = all.get(&namespace);
        assert_eq!(object.is_none(), row[4] == "none", "{name}");
        if let Some(object) = object {
            assert_eq!(object["metadata"]["name"], operator.namespace, "{name}");
            let monitored = object["metadata"]["labels"]["openshift.io/cluster-monitoring"] == "true";
            assert_eq!(monitored, row[4].starts_with('M'), "{name}");
        }
        let object = all.get(&group);
        assert_eq!(object.is_none(), row[5] == "none", "{name}");
        if let Some(object) = object {
            assert_eq!(object["metadata"]["name"], code(&row[5])[0], "{name}");
            let own = object["spec"]["targetNamespaces"] == serde_json::json!([operator.namespace]);
            assert_eq!(own, row[5].contains(": own"), "{name}");
            let says_strategy = object["spec"]["upgradeStrategy"] == "Default";
            assert_eq!(
                says_strategy,
                row[5].contains("all+D") || row[5].contains("upgradeStrategy"),
                "{name}"
            );
        }
    }
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
    let mut seen = 0;
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
                cell if cell.contains("the same seven") => continue,
                cell => files(&cell).into_iter().collect(),
            };
            // Made for a single node of an old version alone, or by jobs that this version has not.
            let elsewhere = ["hpp_sc", "setup_"];
            let listed: BTreeSet<&str> = listed
                .iter()
                .map(String::as_str)
                .filter(|file| !elsewhere.iter().any(|part| file.contains(part)))
                .collect();
            assert_eq!(own, listed, "{name}");
            seen += 1;
        }
    }
    assert!(seen >= 26, "{seen}");
}

#[test]
fn old_versions_have_other_files() {
    let all = manifests("4.11.3");
    assert_eq!(all["50_openshift-lvm_subscription.yaml"]["spec"]["name"], "odf-lvm-operator");
    let mut facts = facts(1).with_operators(&["cnv"]);
    let cluster = facts.test_cluster();
    cluster.control_plane_count = 1;
    "4.10.3".clone_into(&mut cluster.openshift_version);
    let view = ClusterView::of(&facts).unwrap();
    let single: BTreeMap<_, _> = subscription::manifests(&view).into_iter().collect();
    assert_eq!(single["50_openshift-cnv_hpp_sc.yaml"]["metadata"]["name"], "sno-storage");
    assert_eq!(subscription::objects(&view)[0].documents.len(), 2);
}
