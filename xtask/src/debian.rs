//! Debian packages: whether they are needed, and how they are installed.

use std::process::Command;

use anyhow::{Result, bail};
use assisted_lab_tools::on_path;

use crate::run::step;

/// A Debian package, and what tells that it is not needed.
pub struct Package {
    pub name: &'static str,
    pub present: fn() -> bool,
}

/// Installs those Debian packages of a list that are missing.
pub fn install(packages: &[Package]) -> Result<()> {
    let missing = missing(packages);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !has_program("apt-get") {
        bail!(
            "missing: {0}\nInstall them (Debian: sudo apt-get install {0}) and try again.",
            missing.join(" ")
        );
    }
    step("apt-get update", Command::new("apt-get").args(["update", "-q"]))?;
    step(
        &format!("apt-get install {}", missing.join(" ")),
        Command::new("apt-get")
            .args(["install", "-q", "-y", "--no-install-recommends"])
            .args(&missing)
            .env("DEBIAN_FRONTEND", "noninteractive")
            // Tests start servers of their own: a system cluster would only take memory.
            .env("PG_SKIP_CLUSTER", "1"),
    )
}

/// Names of those of a list that are missing.
pub fn missing(packages: &[Package]) -> Vec<&'static str> {
    packages.iter().filter(|package| !(package.present)()).map(|package| package.name).collect()
}

/// Whether this process is root.
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Whether a program is found where `PATH` says.
pub fn has_program(program: &str) -> bool {
    on_path(program).is_some()
}
