//! The REST contract: what differs from it, and what is implemented of it.

use anyhow::Result;

use crate::run::{cargo, step};

/// Compares our document with the contract, or lists the operations.
pub fn run(status: bool) -> Result<()> {
    let task = if status { "status" } else { "check" };
    step(
        &format!("contract {task}"),
        &mut cargo(&["run", "--quiet", "--package", "assisted-api", "--example", "contract", "--", task]),
    )
}
