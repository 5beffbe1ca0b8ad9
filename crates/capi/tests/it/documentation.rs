//! Each test that the document names is there, and each row has one, or names its gap.

use std::collections::BTreeSet;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The tests that a text names, all of which are there.
fn named(text: &str) -> Vec<&str> {
    let names = text.split('`').skip(1).step_by(2);
    let names = names.filter_map(|name| Some((name, name.split_once("::")?)));
    names
        .map(|(name, (module, test))| {
            let file = match module {
                own if own.starts_with("src/") => root().join(own),
                other if other.ends_with(".rs") => root().join("../..").join(other),
                _ => root().join(format!("tests/it/{module}.rs")),
            };
            assert!(read(&file).contains(&format!("fn {test}()")), "{name} is not there");
            name
        })
        .collect()
}

#[test]
fn every_row_has_a_test_or_names_its_gap() {
    let text = read(&root().join("../../docs/capi-tests.md"));
    let (mut checks, mut rows) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = &mut BTreeSet::new();
    for line in text.lines() {
        match line {
            _ if line.starts_with("## The forty checks") => seen = &mut checks,
            _ if line.starts_with("## Known defects") => seen = &mut rows,
            _ if line.starts_with("| ") && !line.starts_with("| check |") && !line.starts_with("| row |") => {
                let numbers = line.split('|').nth(1).unwrap_or_default();
                seen.extend(numbers.split(',').filter_map(|number| number.trim().parse::<u32>().ok()));
                let is_head = line.starts_with("| what |");
                assert!(is_head || !named(line).is_empty() || line.contains("Gap: "), "{line}");
            }
            _ => {}
        }
    }
    assert_eq!(checks, (1..=40).collect(), "the checks of the reference");
    assert_eq!(rows, (1..=38).collect(), "the rows of the reference");
}
