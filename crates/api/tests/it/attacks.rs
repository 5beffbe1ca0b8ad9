//! The page on attacks names tests that there are.

use std::path::Path;

use regex::Regex;

#[test]
fn each_attack_names_tests_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let (row, test) = (Regex::new(r"^\| (\d+) \|").unwrap(), Regex::new(r"`([\w/]+\.rs)` `(\w+)`").unwrap());
    let rows: Vec<_> = page.lines().filter(|line| row.is_match(line)).collect();
    let mut tests = 0;
    for (index, line) in rows.iter().enumerate() {
        assert_eq!(row.captures(line).unwrap()[1], (index + 1).to_string());
        for named in test.captures_iter(line) {
            let (path, name) = (&named[1], &named[2]);
            let source =
                std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(source.contains(&format!("fn {name}(")), "{path} has no {name}");
            tests += 1;
        }
        assert!(test.is_match(line), "{line}");
    }
    assert!(rows.len() >= 30 && tests >= 60, "{} {tests}", rows.len());
}
