//! The tables of conditions and of keys against the reference, and how conditions are set.

use std::collections::BTreeSet;

use assisted_crd::agent_install::conditions::{agent, infra_env};
use assisted_crd::common::Condition;
use assisted_crd::condition::{Outcome, set};
use assisted_crd::hive_extensions::agent_cluster_install::ClusterInstallCondition;
use assisted_crd::hive_extensions::conditions::agent_cluster_install;
use assisted_crd::metal3::conditions::preprovisioning_image;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition as MetaCondition, Time};
use k8s_openapi::jiff::Timestamp;

const REFERENCE: &str = include_str!("../../../../docs/reference/kube-api.md");

/// A section of the reference.
fn section(title: &str) -> &'static str {
    let from = REFERENCE.find(&format!("# {title}")).unwrap();
    let text = &REFERENCE[from + 2..];
    &text[..text.find("\n##").unwrap_or(text.len())]
}

/// The rows of a section's tables, but for their heads.
fn rows(title: &str) -> Vec<Vec<String>> {
    let lines = section(title).lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    lines
        .map(cells)
        .filter(|row: &Vec<String>| row[0] != "type" && row[0] != "key" && row[0] != "finalizer")
        .collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A message with `{}` for each value in it.
fn message(text: &str) -> String {
    let (mut message, mut in_value) = (String::new(), false);
    for letter in text.replace("< ", "less than ").replace("%d", "<n>").chars() {
        match letter {
            '<' => {
                in_value = true;
                message.push_str("{}");
            }
            '>' => in_value = false,
            letter if !in_value => message.push(letter),
            _ => {}
        }
    }
    message
}

type Entry = (String, String, String);

fn entries(outcomes: &[Outcome]) -> BTreeSet<Entry> {
    outcomes.iter().map(|one| (one.r#type.to_owned(), one.status.to_owned(), one.reason.to_owned())).collect()
}

/// Types, statuses and reasons of a section. A cell has several types behind commas, or several statuses and reasons behind
/// slashes; what is in parentheses explains.
fn published(title: &str) -> BTreeSet<Entry> {
    let mut all = BTreeSet::new();
    for row in rows(title) {
        let statuses: Vec<_> = row[1].split('/').map(str::trim).collect();
        let reasons: Vec<_> = row[2].split(" / ").map(|reason| reason.trim_matches('`')).collect();
        for r#type in row[0].split(',').filter(|part| !part.trim().is_empty()) {
            let r#type = r#type.split('(').next().unwrap().trim();
            for (status, reason) in statuses.iter().zip(&reasons) {
                all.insert((r#type.to_owned(), (*status).to_owned(), (*reason).to_owned()));
            }
        }
    }
    all
}

#[test]
fn tables_are_those_of_the_reference() {
    for (title, outcomes) in [
        ("7.1 AgentClusterInstall", agent_cluster_install::ALL),
        ("7.2 Agent", agent::ALL),
        ("7.3 InfraEnv", infra_env::ALL),
    ] {
        assert_eq!(entries(outcomes), published(title), "{title}");
        let section = message(section(title));
        for outcome in
            outcomes.iter().filter(|outcome| !outcome.message.is_empty() && outcome.message != "{}")
        {
            // Told once for several, behind the words that they have in common.
            let known = section.contains(&format!("`{}`", outcome.message))
                || section.contains(&outcome.message.replacen(
                    "The Spec could not be synced due to",
                    "`...",
                    1,
                ))
                || (outcome.status == "Unknown" && section.contains("as above"));
            assert!(known, "{title}: {outcome:?}");
        }
    }
}

#[test]
fn the_table_of_preprovisioning_images_is_that_of_the_reference() {
    let mut published = BTreeSet::new();
    for row in
        rows("6.7 PreprovisioningImage").into_iter().filter(|row| row[0] != "reason" && !row[0].contains('/'))
    {
        for (r#type, status) in [("Ready", &row[1]), ("Error", &row[2])] {
            let said = quoted(&row[3]).into_iter().next().unwrap_or_else(|| row[3].clone());
            published.insert((
                r#type.to_owned(),
                status.clone(),
                row[0].clone(),
                message(&said.replace("%s", "<s>")),
            ));
        }
    }
    let ours = |one: &Outcome| {
        (one.r#type.to_owned(), one.status.to_owned(), one.reason.to_owned(), one.message.to_owned())
    };
    assert_eq!(preprovisioning_image::ALL.iter().map(ours).collect::<BTreeSet<_>>(), published);
}

#[test]
fn keys_are_those_of_the_reference() {
    let source = include_str!("../../src/labels.rs");
    let ours: BTreeSet<&str> = source.split('"').skip(1).step_by(2).collect();
    let mut theirs = BTreeSet::new();
    for row in rows("9. Labels, annotations, finalizers") {
        let keys = if row[0].contains('`') { quoted(&row[0]) } else { vec![row[0].clone()] };
        for key in keys {
            let key = key.trim_end_matches("=true").trim_end_matches('*').replace("<key>", "");
            match key.split_once('{') {
                Some((before, names)) => {
                    let (names, after) = names.split_once('}').unwrap();
                    theirs.extend(names.split(',').map(|name| format!("{before}{}{after}", name.trim())));
                }
                // What stands for the beginning of the key before it.
                None if key.starts_with(".../") => {
                    theirs.insert(format!("inventory.agent-install.openshift.io/{}", &key[4..]));
                }
                None if key.starts_with("....") => {
                    theirs.insert(format!("bmac.agent-install.openshift.io.{}", &key[4..]));
                }
                None => {
                    theirs.insert(key);
                }
            }
        }
    }
    // Named where they are used alone.
    for name in [
        "spoke-bmh-machine-created",
        "remove-agent-and-node-on-delete",
        "allow-provisioned-host-management",
        "drain-started-at",
        "drain-timeout",
        "drain-status",
    ] {
        let is_named = REFERENCE.contains(&format!(".../{name}`"))
            || REFERENCE.contains(&format!("nnotation `bmac.agent-install.openshift.io/{name}`"))
            || REFERENCE.contains(&format!("nnotations `bmac.agent-install.openshift.io/{name}`"));
        assert!(is_named && theirs.insert(format!("bmac.agent-install.openshift.io/{name}")), "{name}");
    }
    // Our own: which image a machine was given is remembered, and which settings an object gave.
    theirs.insert("preprovisioningimage.agent-install.openshift.io/given-image".to_owned());
    theirs.insert("agent-install.openshift.io/given-fields".to_owned());
    assert_eq!(ours, theirs.iter().map(String::as_str).collect());
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

#[test]
fn a_time_changes_with_what_it_tells() {
    let (ready, other) = (agent::REQUIREMENTS_MET_AGENT_IS_READY, agent::REQUIREMENTS_MET_AGENT_NOT_READY);
    let mut conditions: Vec<Condition> = Vec::new();
    assert!(set(&mut conditions, ready.with(&[]), &at(1)));
    assert!(!set(&mut conditions, ready.with(&[]), &at(2)), "nothing new is nothing to write");
    assert_eq!(conditions[0].last_transition_time, Some(at(1)));
    assert!(set(&mut conditions, agent::REQUIREMENTS_MET_AGENT_ALREADY_INSTALLING.with(&[]), &at(3)));
    assert_eq!(conditions[0].last_transition_time, Some(at(1)), "still true");
    assert!(set(&mut conditions, other.with(&[]), &at(4)));
    assert_eq!((conditions.len(), conditions[0].last_transition_time.clone()), (1, Some(at(4))));

    let mut conditions: Vec<ClusterInstallCondition> = Vec::new();
    let progress = agent_cluster_install::COMPLETED_INSTALLATION_IN_PROGRESS;
    assert!(set(&mut conditions, progress.with(&["one"]), &at(1)));
    assert!(!set(&mut conditions, progress.with(&["one"]), &at(2)));
    assert!(set(&mut conditions, progress.with(&["two"]), &at(3)));
    assert_eq!(conditions[0].message, "The installation is in progress: two");
    assert_eq!(conditions[0].last_transition_time, Some(at(3)), "both times follow the message");
    assert_eq!(conditions[0].last_probe_time, Some(at(3)));

    let mut conditions: Vec<MetaCondition> = Vec::new();
    let mut statement = infra_env::IMAGE_CREATED_IMAGE_CREATED.with(&[]);
    statement.generation = Some(1);
    assert!(set(&mut conditions, statement.clone(), &at(1)));
    assert!(!set(&mut conditions, statement.clone(), &at(2)));
    statement.generation = Some(2);
    assert!(set(&mut conditions, statement, &at(3)));
    assert_eq!(
        (conditions[0].last_transition_time.clone(), conditions[0].observed_generation),
        (at(1), Some(2))
    );
}

#[test]
fn values_are_put_into_a_message_in_their_order() {
    let outcome = agent_cluster_install::REQUIREMENTS_MET_INSUFFICIENT_AGENTS;
    assert_eq!(
        outcome.with(&["3", "0", "2", "1", "0", "{}"]).message,
        "The cluster currently requires exactly 3 master agents, 0 arbiter agents and 2 worker agents, but currently \
         registered 1 master agents, 0 arbiter agents and {} worker agents"
    );
}
