//! The tables in `docs/faults/`: the rules, as they hold for the clusters of each topology.

use std::fmt::Write;
use std::path::Path;

use assisted_simhost::topology::Topology;
use assisted_testkit::golden;

use super::case::{self, Case};
use super::rules::{self, End, Others, RULES};

/// The page of a topology.
fn page(topology: Topology) -> String {
    let mut text = format!(
        "# Faults of clusters of topology {topology}\n\nMade of the rules in `crates/simhost/tests/it/outcomes/rules.rs`; \
         [what it means](../faults.md).\n\n| what goes wrong | when | on | cluster | that host | other hosts | by |\n\
         |---|---|---|---|---|---|---|\n"
    );
    let mut cases = case::all(topology);
    while let Some(first) = cases.first().copied() {
        let rule = rules::of(&first);
        let is_alike = |other: &Case| {
            (other.kind, other.role, rules::of(other)) == (first.kind, first.role, rule)
                && other.on() == first.on()
        };
        let triggers: Vec<_> =
            cases.iter().filter(|other| is_alike(other)).filter_map(|other| other.trigger).collect();
        cases.retain(|other| !is_alike(other));
        let when: Vec<_> = triggers.iter().map(ToString::to_string).collect();
        let rule = &RULES[rule];
        let (status, info) = rule.cluster;
        writeln!(
            text,
            "| {} | {} | {} | {status} ({info}) | {} | {} | {} |",
            first.kind.as_str(),
            when.join(", "),
            first.on(),
            if first.role.is_some() { end(rule.struck) } else { String::new() },
            if first.is_alone() && first.role.is_some() {
                String::new()
            } else {
                others(&rule.others, &first)
            },
            rule.source,
        )
        .unwrap();
    }
    text
}

fn end(End(status, info, names): End) -> String {
    format!("{status} ({}{names})", info.replace("{stage}", "…"))
}

fn others(others: &Others, case: &Case) -> String {
    let (special, rest) = match others {
        Others::Alike(all) => return end(*all),
        Others::Bootstrap(special, rest) => (format!("the bootstrap: {}", end(*special)), rest),
        Others::Posed(special, rest) => (format!("whom it poses as: {}", end(*special)), rest),
    };
    // One is struck, one is told of.
    if case.shape.hosts > 2 { format!("{special}<br>others: {}", end(*rest)) } else { special }
}

#[test]
fn pages_are_those_of_the_rules() {
    for topology in super::TOPOLOGIES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/faults/{topology}.md"));
        golden(path, &page(topology));
    }
}

#[test]
fn every_rule_holds_somewhere() {
    let used: Vec<_> =
        super::TOPOLOGIES.into_iter().flat_map(case::all).map(|case| rules::of(&case)).collect();
    for (number, rule) in RULES.iter().enumerate() {
        assert!(used.contains(&number), "{:?} ({})", rule.fault_kinds, rule.source);
    }
}
