//! Documents that are made from the code, so that they can't fall behind it.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::run::{cargo, root};

/// A document, and the command that prints it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    (
        "docs/state-machines.md",
        &["run", "--quiet", "--package", "assisted-core", "--example", "docs", "--", "machines"],
    ),
    (
        "docs/configuration.md",
        &["run", "--quiet", "--package", "assisted-core", "--example", "docs", "--", "settings"],
    ),
    ("docs/cli.md", &["run", "--quiet", "--package", "assisted", "--", "docs"]),
];

/// Writes the documents, or fails where one differs.
pub fn run(check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (path, command) in DOCUMENTS {
        let output = cargo(command).output().with_context(|| format!("can't print {path}"))?;
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
            println!("wrote {path}");
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
