//! Each test that the documents name is there, and what has to have one has one.

use std::collections::BTreeSet;
use std::path::Path;

use assisted_crd::agent_install::conditions as own;
use assisted_crd::condition::Outcome;
use assisted_crd::hive_extensions::conditions as install;
use assisted_crd::metal3::conditions as metal3;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The tests that a text names: their files, and what stands in them.
fn named<'a>(text: &'a str, folder: &str) -> Vec<(&'a str, String)> {
    let names = text.split('`').skip(1).step_by(2).filter_map(|name| Some((name, name.split_once("::")?)));
    names
        .map(|(name, (module, test))| {
            let file = if module.ends_with(".rs") {
                root().join(module)
            } else {
                root().join(format!("tests/it/{folder}/{module}.rs"))
            };
            let source = read(&file);
            let from = source.find(&format!("fn {test}()")).unwrap_or_else(|| panic!("{name} is not there"));
            let body = &source[from..];
            // Up to the next test.
            (name, body[..body.find("test]").unwrap_or(body.len())].to_owned())
        })
        .collect()
}

#[test]
fn named_tests_are_there() {
    for (document, folder, least) in [
        ("admission", "admission", 20),
        ("hub-operator", "operator", 15),
        ("kube-api", "controllers", 60),
        ("manifests", "", 10),
    ] {
        let text = read(&root().join(format!("../../docs/{document}.md")));
        let found = named(&text, folder).len();
        assert!(found >= least, "{document} names {found} tests");
    }
}

#[test]
fn each_of_the_forty_behaviours_has_a_test() {
    let text = read(&root().join("../../docs/kube-api.md"));
    for number in 1..=40 {
        let begin = format!("| {number} |");
        let row = text.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("behaviour {number} has no row"));
        assert!(!named(row, "controllers").is_empty(), "{row}");
    }
}

#[test]
fn each_of_the_upstream_defects_has_a_test_or_a_reason() {
    let text = read(&root().join("../../docs/kube-api.md"));
    let (_, section) = text.split_once("\n## Upstream defects").unwrap();
    let section = section.split("\n## ").next().unwrap();
    for number in 1..=25 {
        let begin = format!("| {number} |");
        let row = section.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("defect {number} has no row"));
        assert!(!named(row, "controllers").is_empty() || row.contains(" No test: "), "{row}");
    }
}

#[test]
fn each_condition_has_a_test_that_looks_for_it() {
    let text = read(&root().join("../../docs/kube-api.md"));
    let mut missing = BTreeSet::new();
    for (kind, outcomes) in [
        ("AgentClusterInstall", install::agent_cluster_install::ALL),
        ("Agent", own::agent::ALL),
        ("InfraEnv", own::infra_env::ALL),
        ("AgentClassification", own::agent_classification::ALL),
        ("AgentClusterInstall", install::on_cluster_layering::ALL),
        ("AgentServiceConfig", own::agent_service_config::ALL),
        ("AgentServiceConfig", own::agent_service_config_failure::ALL),
        ("HypershiftAgentServiceConfig", own::hypershift_agent_service_config_failure::ALL),
        ("PreprovisioningImage", metal3::preprovisioning_image::ALL),
        ("PreprovisioningImage", metal3::network_data::ALL),
    ] {
        for Outcome { r#type, reason, .. } in outcomes {
            let begin = format!("| {kind} | `{reason}` |");
            let rows = text.lines().filter(|line| line.starts_with(&begin));
            let row =
                rows.clone().find(|line| line.split('|').nth(3).is_some_and(|types| types.contains(r#type)));
            let is_looked_for = row
                .is_some_and(|row| named(row, "controllers").iter().any(|(_, body)| body.contains(reason)));
            if !is_looked_for {
                missing.insert(format!("{kind} {type} {reason}", r#type = r#type));
            }
        }
    }
    assert!(missing.is_empty(), "no test of docs/kube-api.md looks for {missing:#?}");
}

#[test]
fn each_published_reason_of_the_operator_is_shown_or_is_said_not_to_be() {
    let reference = read(&root().join("../../docs/reference/kube-api.md"));
    let published = reference.lines().find_map(|line| line.strip_prefix("All reasons: ")).unwrap();
    let published: BTreeSet<_> = published.trim_end_matches('.').split(", ").collect();
    let ours: BTreeSet<_> = [
        own::agent_service_config::ALL,
        own::agent_service_config_failure::ALL,
        own::hypershift_agent_service_config_failure::ALL,
    ]
    .concat()
    .iter()
    .map(|outcome| outcome.reason)
    .collect();
    let text = read(&root().join("../../docs/kube-api.md"));
    let (_, never) = text.split_once("## Reasons that are never shown").unwrap();
    let never = never.split("\n## ").next().unwrap();
    let rows = never.lines().filter(|line| line.starts_with("| `"));
    let never: BTreeSet<_> = rows
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let missing: BTreeSet<_> = published.difference(&ours).copied().collect();
    assert_eq!(never, missing);
}
