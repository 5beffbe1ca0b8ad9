//! docs/deploy.md: each way to run the service names the test that tried it, and each test that is named is there.

use std::fs;

use crate::world::root;

/// Modules of tests that are not of this crate, and where they are.
const ELSEWHERE: &[(&str, &str)] = &[
    ("dist::target::tests", "xtask/src/dist/target.rs"),
    ("everything_release", "crates/capi/tests/it/everything_release.rs"),
    ("hub", "crates/kubeapi/tests/it/operator/hub.rs"),
    ("upgrade", "bin/assisted/tests/it/upgrade.rs"),
];

/// The tests that a text names, with their modules; of a whole module there is no name.
fn named(text: &str) -> Vec<(&str, &str)> {
    let is_name = |name: &&str| {
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:".contains(&byte))
    };
    let names = text.split('`').skip(1).step_by(2).filter(is_name);
    names.filter_map(|name| name.rsplit_once("::")).collect()
}

#[test]
fn each_way_to_run_it_names_the_test_that_tried_it() {
    let page = fs::read_to_string(root("docs/deploy.md")).unwrap();
    let rows = page.lines().skip_while(|line| !line.starts_with("| way |")).skip(2);
    let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        assert!(named(row).iter().any(|(_, test)| !test.is_empty()), "{row}");
    }
    for (module, test) in named(&page) {
        let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == module);
        let file = match elsewhere {
            Some((_, file)) => (*file).to_owned(),
            None => format!("crates/package/tests/it/{module}.rs"),
        };
        let source = fs::read_to_string(root(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let is_there = test.is_empty() || source.contains(&format!("fn {test}()"));
        assert!(is_there, "{file} has no {test}");
    }
}
