//! The test programs: Cargo builds them, this runs them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::results::{Skip, Sum, skips, sum};
use crate::run::{OPTIMISE, cargo, print_line, status, tied};

/// A test program.
#[derive(Clone, Debug)]
pub struct Binary {
    pub package: String,
    /// `it`, or the name of what its tests are in.
    pub target: String,
    program: PathBuf,
    /// Where Cargo would run it: the folder of its package.
    dir: PathBuf,
}

/// Builds the test programs of packages, or of all; what Cargo tells of them is kept in a file. Benchmarks are not built: where the
/// compiler lints, it sees them in the tests of their crates.
pub fn compile(packages: &[String], told: &Path) -> Result<Vec<Binary>> {
    // The unit tests of libraries and programs as well. `--lib` would fail where no package has a library.
    let mut command = cargo(&["test", "--no-run", "--tests", "--message-format=json-render-diagnostics"]);
    match packages {
        [] => command.arg("--workspace"),
        packages => command.args(packages.iter().flat_map(|package| ["--package", package])),
    };
    let output = File::create(told).with_context(|| format!("can't write {}", told.display()))?;
    if !status(&mut command, Some(output))?.success() {
        bail!("tests don't compile");
    }
    let text = std::fs::read_to_string(told)?;
    let messages = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>();
    Ok(messages.context("can't read what cargo tells")?.iter().filter_map(Binary::from_message).collect())
}

/// Whether the compiler of the workspace is Clippy's driver: whoever set this has everything linted that is built.
pub fn compiler_lints() -> bool {
    std::env::var_os("RUSTC_WORKSPACE_WRAPPER")
        .is_some_and(|wrapper| Path::new(&wrapper).file_stem().is_some_and(|name| name == "clippy-driver"))
}

impl Binary {
    fn from_message(message: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let dir = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Self {
            package: package(message["package_id"].as_str()?)?,
            target: text(&message["target"]["name"])?,
            program: text(&message["executable"])?.into(),
            dir,
        })
    }

    fn command(&self, python: &Path) -> Command {
        let mut command = tied(&self.program);
        command.current_dir(&self.dir).env("CARGO_MANIFEST_DIR", &self.dir).env("ASSISTED_PYTHON", python);
        command.env(OPTIMISE, "1");
        command
    }

    /// Names of its tests.
    pub fn tests(&self, python: &Path) -> Result<Vec<String>> {
        let output = self.command(python).args(["--list", "--format", "terse"]).output();
        let output = output.with_context(|| format!("can't start {}", self.program.display()))?;
        if !output.status.success() {
            bail!("{} can't list its tests", self.program.display());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs tests of it, in a thread that writes into this log; their results, and what skipped itself.
    pub fn run(
        &self,
        what: &What,
        python: &Path,
        variable: Option<&(&'static str, String)>,
        log: &Path,
    ) -> Result<(Sum, Vec<Skip>)> {
        let skipped = log.with_extension("skipped");
        drop(std::fs::remove_file(&skipped));
        let mut command = self.command(python);
        match what {
            What::AllBut(left_out) => {
                command.arg("--exact").args(left_out.iter().flat_map(|test| ["--skip", test]));
            }
            What::One(test) => {
                command.args(["--exact", test]);
            }
            What::Matching(filters) => {
                command.args(filters);
            }
        }
        command.env("ASSISTED_SKIPPED", &skipped);
        if let Some((name, value)) = variable {
            command.env(name, value);
        }
        let status = status(&mut command, None);
        let output = String::from_utf8_lossy(&std::fs::read(log)?).into_owned();
        let skips = skips(&skipped);
        for Skip { test, why } in &skips {
            print_line(&format!("SKIPPED {test}: {why}"));
        }
        let status = status?;
        let sum = sum(&output, skips.len() as u64).with_context(|| format!("it ended with {status}"))?;
        if !status.success() && sum.failed == 0 {
            bail!("it ended with {status}");
        }
        Ok((sum, skips))
    }
}

/// Which tests of a program.
#[derive(Clone, Debug)]
pub enum What {
    AllBut(Vec<String>),
    One(String),
    /// Whose names hold one of these.
    Matching(Vec<String>),
}

/// The name in Cargo's id of a package: `path+file:///x/crates/core#assisted-core@0.1.0`, or `path+file:///x/xtask#0.1.0`.
fn package(id: &str) -> Option<String> {
    let (path, rest) = id.split_once('#')?;
    let name = rest.split_once('@').map(|(name, _)| name).or_else(|| path.rsplit('/').next());
    name.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_tells() {
        let message = |package_id: &str, test: bool| {
            json!({
                "reason": "compiler-artifact", "package_id": package_id, "manifest_path": "/x/lab/Cargo.toml",
                "target": {"name": "it", "kind": ["test"]}, "profile": {"test": test}, "executable": "/x/it-1",
            })
        };
        let binary = Binary::from_message(&message("path+file:///x/lab#assisted-lab@0.1.0", true)).unwrap();
        assert_eq!((binary.package.as_str(), binary.target.as_str()), ("assisted-lab", "it"));
        assert_eq!((binary.program, binary.dir), ("/x/it-1".into(), "/x/lab".into()));
        assert_eq!(package("path+file:///x/xtask#0.1.0").as_deref(), Some("xtask"));
        assert!(Binary::from_message(&message("path+file:///x/lab#assisted-lab@0.1.0", false)).is_none());
    }
}
