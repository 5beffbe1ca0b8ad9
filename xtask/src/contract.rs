//! The REST contract: what differs from it, and what is implemented of it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::run::{root, step};

/// Compares our document with the contract, or asks a running API which operations have a use case behind them; the programs
/// are there.
pub fn run(programs: &Path, status: bool) -> Result<()> {
    let task = if status { "status" } else { "check" };
    let program = programs.join("examples/contract");
    step(&format!("contract {task}"), Command::new(program).arg(task).current_dir(root()))
}
