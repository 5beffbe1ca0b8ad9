//! Running other programs: said beforehand, checked afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Folder for what is made once and outlives checkouts, made if it is not there.
pub fn cache() -> Result<PathBuf> {
    let dir = assisted_lab_tools::cache()?;
    std::fs::create_dir_all(&dir).with_context(|| format!("can't create {}", dir.display()))?;
    Ok(dir)
}

/// `cargo` with arguments, in the root of the checkout. It is not told what cargo has told this program of itself: some
/// libraries would be built anew for it, and once more when somebody runs cargo by hand.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    for (name, _) in std::env::vars_os() {
        let own = name.to_string_lossy();
        if own.starts_with("CARGO_PKG_") || own.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Folder of what cargo builds.
pub fn target_dir() -> Result<PathBuf> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]).output()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("can't read cargo metadata")?;
    Ok(metadata["target_directory"].as_str().map_or_else(|| root().join("target"), PathBuf::from))
}

/// Builds the programs of the workspace, with the same features as the tests that start them; where they are.
pub fn programs() -> Result<PathBuf> {
    step("programs", &mut cargo(&["build", "--workspace", "--bins", "--examples"]))?;
    Ok(target_dir()?.join("debug"))
}

/// Runs a command; fails unless it succeeds. Says what runs and how long it took.
pub fn step(what: &str, command: &mut Command) -> Result<()> {
    eprintln!("--- {what}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("can't start {:?}", command.get_program()))?;
    eprintln!("--- {what}: {:.1} s", started.elapsed().as_secs_f64());
    if !status.success() {
        bail!("{what} failed ({status})");
    }
    Ok(())
}
