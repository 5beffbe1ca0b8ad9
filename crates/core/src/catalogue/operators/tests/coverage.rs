//! Holds that whatever an operator checks, takes and brings is held by a test: the table of `docs/operator-tests.md`.

use super::fields::{cluster, made};
use super::*;

const TABLE: &str = include_str!("../../../../../../docs/operator-tests.md");
const HOSTS: &str = include_str!("../../../../tests/data/outcomes/host.txt");
const CLUSTERS: &str = include_str!("../../../../tests/data/outcomes/cluster.txt");

/// Sources of the tests of each column.
const SOURCES: [&[&str]; 4] = [
    &[
        include_str!("../../../validation/host/tests/olm.rs"),
        include_str!("../../../validation/host/tests/operators.rs"),
    ],
    &[
        include_str!("../../../validation/cluster/tests/olm.rs"),
        include_str!("../../../validation/cluster/tests/operators.rs"),
    ],
    &[
        include_str!("../../../validation/host/tests/olm.rs"),
        include_str!("../../../validation/host/tests/operators.rs"),
    ],
    &[include_str!("fields.rs"), include_str!("setup.rs")],
];

/// Whether an operator's validation may find anything but success, by the list of outcomes, which a test holds too.
fn checks(outcomes: &str, id: &str) -> bool {
    let lines = outcomes.lines().filter_map(|line| line.split_once(" | "));
    lines.filter(|(of, _)| of.trim() == id).any(|(_, rest)| !rest.trim().starts_with("success"))
}

/// Whether the reference lists numbers that the operator adds.
fn takes(name: &str) -> bool {
    let rows = table(REFERENCE, "### 7.1 ", "Operator");
    rows.iter().any(|row| row[0].split(' ').next() == Some(name))
}

/// Whether anything is made for it beside what brings it.
fn brings(name: &str) -> bool {
    // The storage that jobs wait for is there.
    let all = made(&cluster("4.20.1", &[name, "odf"]));
    let without = made(&cluster("4.20.1", &["odf"]));
    let of_olm = ["Namespace", "OperatorGroup", "Subscription"];
    let further =
        |all: &[Value]| all.iter().filter(|object| of_olm.iter().all(|kind| object["kind"] != *kind)).count();
    if name == "odf" { further(&all) > 0 } else { further(&all) > further(&without) }
}

/// The text of a test in the sources of a column.
fn test(column: usize, name: &str) -> Option<&'static str> {
    SOURCES[column].iter().find_map(|source| {
        let body = source.split(&format!("fn {name}() {{")).nth(1)?;
        body.split("\n}\n").next()
    })
}

#[test]
fn nothing_is_without_a_test() {
    let rows = table(TABLE, "# Which test", "operator");
    assert_eq!(rows.len(), published().count());
    for row in rows {
        let operator = find(&row[0]).unwrap();
        let name = operator.name;
        let has = [
            checks(HOSTS, operator.host.as_str()),
            checks(CLUSTERS, operator.cluster.as_str()),
            takes(name),
            brings(name),
        ];
        for (column, (has, cell)) in has.into_iter().zip(&row[1..]).enumerate() {
            assert_eq!(has, cell != "-", "{name}, column {column}: {cell}");
            for named in cell.split(", ").filter(|_| has) {
                let body = test(column, named).unwrap_or_else(|| panic!("{name}: no test {named}"));
                // Tests of tables of the reference speak of all that stand there.
                let speaks = body.contains(&format!("\"{name}\""))
                    || body.contains("REFERENCE")
                    || body.contains("OPERATORS_MD");
                let by_id = body.contains(&format!("{:?}", operator.host))
                    || body.contains(&format!("{:?}", operator.cluster));
                assert!(speaks || by_id || body.contains("stored("), "{named} does not speak of {name}");
            }
        }
    }
}

/// What an operator may say of itself, each in a function of its `Behaviour`.
const BEHAVIOUR: [&str; 7] =
    ["requirements", "preflight", "check_host", "check_cluster", "manifests", "objects", "adapt"];

#[test]
fn what_one_of_ours_does_is_tested_in_its_file() {
    for own in OWN_OPERATORS {
        let file = format!("src/catalogue/operators/olm/{}.rs", own.name.replace('-', "_"));
        let source = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let (code, tests) = source.split_once("#[cfg(test)]").unwrap_or((&source, ""));
        for function in BEHAVIOUR.iter().filter(|function| code.contains(&format!("fn {function}("))) {
            assert!(tests.contains(&format!(".{function}(")), "{file} has no test that calls {function}");
        }
    }
}
