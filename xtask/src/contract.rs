//! The REST contract: what differs from it, and what is implemented of it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::run::{root, step};

/// Compares our document with the contract, or lists the operations; the programs are there.
pub fn run(programs: &Path, status: bool) -> Result<()> {
    let task = if status { "status" } else { "check" };
    let program = programs.join("examples/contract");
    step(&format!("contract {task}"), Command::new(program).arg(task).current_dir(root()))
}
