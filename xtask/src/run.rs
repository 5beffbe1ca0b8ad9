//! Running other programs: said beforehand, checked afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// Root of the checkout.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Folder for what is made once and outlives checkouts, made if it is not there.
pub fn cache() -> Result<PathBuf> {
    let dir = assisted_testkit::cache()?;
    std::fs::create_dir_all(&dir).with_context(|| format!("can't create {}", dir.display()))?;
    Ok(dir)
}

/// `cargo` with arguments, in the root of the checkout.
pub fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    command
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
