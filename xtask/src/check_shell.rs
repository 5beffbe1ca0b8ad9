//! No shell, and no command line built as text: every program that the system runs is started in one place,
//! by a list of arguments. This looks at the sources of all that is shipped, tests apart.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::run::{files, print_line};

/// The place that may start programs.
const RUNNERS: &[&str] = &["crates/base/src/process/cmd.rs"];

/// Write the command of a container that a cluster runs, a constant text: nothing of this system runs it.
const CONTAINERS: &[&str] =
    &["crates/core/src/catalogue/operators/setup.rs", "crates/kubeapi/src/operator/desired/database.rs"];

/// For tests and tasks alone: shipped nowhere.
const TOOLS: &[&str] = &["crates/package", "crates/testkit"];

/// What stands for a program started elsewhere, or for a shell.
const FORBIDDEN: &[(&str, &str)] = &[
    ("Command::new(", "starts a program by itself"),
    ("process::Command", "starts a program by itself"),
    ("libc::system", "runs a shell"),
    ("\"sh\"", "runs a shell"),
    ("\"bash\"", "runs a shell"),
    ("/bin/sh\"", "runs a shell"),
    ("/bin/bash\"", "runs a shell"),
    ("Cmd::new(format!(", "builds a command as text"),
    (".cmd(&format!(", "builds a command as text"),
];

/// Looks through the workspace.
pub fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the workspace")?;
    let mut found = Vec::new();
    for dir in ["bin", "crates"] {
        for package in fs::read_dir(root.join(dir))? {
            let package = package?.path();
            if !TOOLS.iter().any(|tool| package.ends_with(tool)) {
                found.extend(files(&package.join("src"), &is_source)?);
            }
        }
    }
    let mut wrong = Vec::new();
    for file in &found {
        let name = file.strip_prefix(root).unwrap_or(file);
        if !RUNNERS.iter().chain(CONTAINERS).any(|exempt| name == Path::new(exempt)) {
            let text = fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
            wrong.extend(faults(&text).map(|(line, why)| format!("{}:{line}: {why}", name.display())));
        }
    }
    if !wrong.is_empty() {
        bail!("programs are started in {RUNNERS:?} alone, and never by a shell:\n  {}", wrong.join("\n  "));
    }
    print_line(&format!("no shell: {} files, programs are started in {}", found.len(), RUNNERS.join(", ")));
    Ok(())
}

/// A folder that is no test's, and a Rust file that is none.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() { name != "tests" } else { name.ends_with(".rs") && !name.ends_with("tests.rs") }
}

/// Lines that do what they may not, before the tests of the file and outside of comments.
fn faults(text: &str) -> impl Iterator<Item = (usize, &'static str)> {
    let code = text
        .lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]" || line.starts_with(' '));
    code.filter(|(_, line)| !line.trim_start().starts_with("//")).filter_map(|(number, line)| {
        let found = FORBIDDEN.iter().find(|(text, _)| line.contains(text));
        found.map(|(_, why)| (number + 1, *why))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_and_hidden_programs_are_found() {
        let of = |text: &str| faults(text).map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(of("fn a() {\n    Command::new(\"ls\");\n}\n"), [2]);
        assert_eq!(of("use std::process::Command;\nCmd::new(\"sh\").arg(\"-c\")"), [1, 2]);
        assert_eq!(of("Cmd::new(format!(\"ls {dir}\"))"), [1]);
        assert_eq!(of("Cmd::new(\"ls\").arg(dir)"), [0; 0]);
        // Neither comments nor tests ship.
        assert_eq!(of("// never \"sh\"\n#[cfg(test)]\nmod tests {\n    Command::new(\"sh\");\n}\n"), [0; 0]);
    }
}
