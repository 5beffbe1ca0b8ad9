//! Pages that name tests name tests that there are: that of attacks, and that of image mode.

use std::path::Path;

use assisted_wire::on_cluster_layering::LayeringErrorCode;
use regex::Regex;

/// A row of a table.
struct Row {
    first: String,
    /// How many tests it names; each of them is there.
    tests: usize,
    /// How many of these run with every change: the others begin with `everything_`, or are in a module that does.
    quick: usize,
    text: String,
}

/// The rows of a page whose first cell is of a form.
fn rows(page: &str, form: &str) -> Vec<Row> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let first = Regex::new(&format!(r"^\| ({form}) \|")).unwrap();
    let test = Regex::new(r"`([\w/-]+\.rs)` `(\w+)`").unwrap();
    let read = |line: &str| {
        let found = first.captures(line)?;
        let (mut tests, mut quick) = (0, 0);
        for named in test.captures_iter(line) {
            let (path, name) = (&named[1], &named[2]);
            let source =
                std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(source.contains(&format!("fn {name}(")), "{path} has no {name}");
            tests += 1;
            quick += usize::from(!format!("/{path}/{name}").contains("/everything_"));
        }
        Some(Row { first: found[1].to_owned(), tests, quick, text: line.to_owned() })
    };
    text.lines().filter_map(read).collect()
}

fn firsts(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.first.as_str()).collect()
}

fn numbers(last: usize) -> Vec<String> {
    (1..=last).map(|number| number.to_string()).collect()
}

#[test]
fn each_attack_names_tests_that_there_are() {
    let rows = rows("docs/security.md", r"\d+");
    assert_eq!(firsts(&rows), numbers(rows.len()));
    for row in &rows {
        assert!(row.quick > 0, "no test of it runs with every change: {}", row.text);
    }
    let tests: usize = rows.iter().map(|row| row.tests).sum();
    assert!(rows.len() >= 30 && tests >= 60, "{} {tests}", rows.len());
}

#[test]
fn what_image_mode_shows_names_tests_that_there_are() {
    const PAGE: &str = "docs/image-mode-tests.md";
    let shown = rows(PAGE, r"\d+");
    assert_eq!(firsts(&shown), numbers(24));
    let rules = rows(PAGE, r"V\d\d");
    let all: Vec<_> = (1..=25).map(|number| format!("V{number:02}")).collect();
    assert_eq!(firsts(&rules), all);
    let codes = rows(PAGE, "`[a-z-]+`");
    let all: Vec<_> = LayeringErrorCode::ALL.iter().map(|code| format!("`{code}`")).collect();
    assert_eq!(firsts(&codes), all);
    for row in shown.iter().chain(&rules).chain(&codes) {
        assert!(row.tests > 0, "{}", row.text);
    }
}
