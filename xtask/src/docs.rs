//! Documents that are made from the code, so that they can't fall behind it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{output, print_line, root};
use crate::troubleshooting;

/// A document, the program that prints it, and what it is asked.
const DOCUMENTS: &[(&str, &str, &str)] = &[
    ("docs/state-machines.md", "examples/docs", "machines"),
    ("docs/operators.md", "examples/docs", "operators"),
    ("docs/configuration.md", "examples/configuration", "all"),
    ("docs/errors.md", "examples/api", "errors"),
    ("docs/api.md", "examples/api", "operations"),
    ("docs/cli.md", "assisted", "docs"),
    ("docs/environment.md", "assisted", "environment-docs"),
    ("docs/lab-cli.md", "assisted-lab", "docs"),
];

/// Writes the documents, or fails where one differs; the programs are there.
pub fn run(programs: &Path, check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, program, what) in DOCUMENTS {
        let mut print = Command::new(programs.join(program));
        let output = output(&format!("what prints {path}"), print.arg(what).current_dir(root()))?;
        if !output.status.success() {
            bail!("can't print {path}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let file = root().join(path);
        if std::fs::read(&file).is_ok_and(|have| have == output.stdout) {
            continue;
        }
        if check {
            stale.push(*path);
        } else {
            write(&file, &output.stdout)?;
            print_line(&format!("wrote {path}"));
        }
    }
    let page = troubleshooting::page()?;
    let file = root().join(troubleshooting::PAGE);
    if !std::fs::read(&file).is_ok_and(|have| have == page.as_bytes()) {
        if check {
            stale.push(troubleshooting::PAGE);
        } else {
            write(&file, page.as_bytes())?;
            print_line(&format!("wrote {}", troubleshooting::PAGE));
        }
    }
    if !stale.is_empty() {
        bail!("{} differ from the code: run `cargo xtask docs`", stale.join(", "));
    }
    Ok(())
}

fn write(file: &Path, content: &[u8]) -> Result<()> {
    std::fs::write(file, content).with_context(|| format!("can't write {}", file.display()))
}
