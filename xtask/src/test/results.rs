//! What came out of tests: counts, and what was skipped.

use std::path::Path;

use anyhow::{Context, Result};

/// How many tests did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// For `--everything` alone.
    pub left_out: u64,
}

impl Sum {
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.left_out += other.left_out;
    }
}

/// Tests that may be skipped where CI runs, and why. Each other one has to run there.
const MAY_SKIP: &[(&str, &str)] = &[
    (
        "openshift::from_release_to_ignition_with_the_installer_that_is_named",
        "there is no openshift-install that could be had without an account at a vendor: OPENSHIFT_INSTALL names one where there is",
    ),
    (
        "serve::environment::tests::the_list_is_that_of_the_reference",
        "the whole reference is not part of this project: docs/reference holds what is cited of it",
    ),
    (
        "published::ours_say_what_the_published_ones_say",
        "the published definitions are kept without their descriptions; ASSISTED_PUBLISHED_CRDS names the folder of the whole ones",
    ),
    (
        "redfish::a_single_node_is_installed_where_an_accelerator_works",
        "emulated it takes longer than CI has time for: docs/adr/0027-virtual-machines-in-ci.md",
    ),
];

/// A test that did not run, as it has told: its name, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    pub test: String,
    pub why: String,
}

impl Skip {
    /// Whether CI can do without it.
    pub fn is_allowed(&self) -> bool {
        MAY_SKIP.iter().any(|(test, _)| *test == self.test)
    }
}

/// The tests that have written into the file for those that are skipped (`assisted_testkit::skip`); a test is told once.
pub fn skips(file: &Path) -> Vec<Skip> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut skips: Vec<Skip> = Vec::new();
    for line in text.lines() {
        let (test, why) = line.split_once(": ").unwrap_or((line, ""));
        if !skips.iter().any(|skip| skip.test == test) {
            skips.push(Skip { test: test.to_owned(), why: why.to_owned() });
        }
    }
    skips
}

/// A test that failed, as its program tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub test: String,
    /// The beginning and the end of what it said when it panicked, with the place.
    pub why: Vec<String>,
}

/// How many lines of a failure's beginning, and of its end, are told at the end of a run, and how many characters of each.
const WHY_LINES: usize = 8;
const WHY_WIDTH: usize = 240;

/// The tests that failed in a program that has printed this.
pub fn failures(output: &str) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut in_panic = false;
    for line in output.lines() {
        if let Some(test) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            failures.push(Failure { test: test.to_owned(), why: Vec::new() });
            in_panic = false;
        } else if let Some(failure) = failures.last_mut() {
            if line.contains(" panicked at ") && failure.why.is_empty() {
                in_panic = true;
            } else if ["stack backtrace:", "note: run with", "failures:"]
                .iter()
                .any(|end| line.starts_with(end))
            {
                in_panic = false;
            }
            if in_panic && !line.is_empty() {
                failure.why.push(line.chars().take(WHY_WIDTH).collect());
            }
        }
    }
    for Failure { why, .. } in &mut failures {
        if let Some(left_out) = why.len().checked_sub(2 * WHY_LINES).filter(|lines| *lines > 1) {
            let gap = format!("… {left_out} more lines, in the log …");
            why.splice(WHY_LINES..WHY_LINES + left_out, [gap]);
        }
    }
    failures
}

/// The sum of a run of a test program that has printed this; its last line of results counts. A program without one has crashed.
pub fn sum(output: &str, skips: u64) -> Result<Sum> {
    let line = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let line = line.context("it ended before it told its results")?;
    let number = |word| count(line, word).with_context(|| format!("no {word} count in: {line}"));
    // For the test runner a test that skips itself has passed.
    let passed = number("passed")?.saturating_sub(skips);
    Ok(Sum { passed, failed: number("failed")?, skipped: number("ignored")? + skips, left_out: 0 })
}

/// The number before a word, in `ok. 3 passed; 0 failed; 0 ignored; …`.
fn count(result: &str, word: &str) -> Option<u64> {
    let (before, _) = result.split_once(&format!(" {word}"))?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_from_the_runners_last_line() {
        let output = "test result: in a test's own words\n\
                      test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.10s\n\n";
        assert_eq!(sum(output, 2).unwrap(), Sum { passed: 10, failed: 3, skipped: 3, left_out: 0 });
        assert!(sum("running 3 tests\n", 0).is_err());
    }

    #[test]
    fn a_failure_is_told_with_both_ends_of_its_reason() {
        let long = (0..20).map(|line| format!("{line}{}\n", "x".repeat(300))).collect::<String>();
        let output = format!(
            "test a::b ... FAILED\n\nfailures:\n\n---- a::b stdout ----\nits own words\n\n\
             thread 'a::b' (7) panicked at a.rs:1:2:\nno luck\nstack backtrace:\n   0: rust_begin_unwind\n\n\
             ---- c stdout ----\nthread 'c' panicked at c.rs:3:4:\n{long}\nfailures:\n    a::b\n    c\n"
        );
        let [first, second] = failures(&output).try_into().unwrap();
        let why = ["thread 'a::b' (7) panicked at a.rs:1:2:", "no luck"].map(str::to_owned).to_vec();
        assert_eq!(first, Failure { test: "a::b".into(), why });
        assert_eq!((second.test.as_str(), second.why.len()), ("c", 2 * WHY_LINES + 1));
        assert_eq!(second.why[1].len(), WHY_WIDTH);
        assert_eq!(second.why[WHY_LINES], "… 5 more lines, in the log …");
        assert!(second.why[2 * WHY_LINES].starts_with("19x"), "{second:?}");
    }

    #[test]
    fn a_skip_is_counted_once_and_has_to_be_allowed() {
        let file = std::env::temp_dir().join(format!("xtask-skips-{}", std::process::id()));
        let allowed = MAY_SKIP[0].0;
        std::fs::write(&file, format!("a::b: no root: none\na::b: again\n{allowed}: none\n")).unwrap();
        let skips = skips(&file);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(skips[0], Skip { test: "a::b".into(), why: "no root: none".into() });
        assert_eq!(skips.iter().map(Skip::is_allowed).collect::<Vec<_>>(), [false, true]);
    }
}
