//! `assisted-host step`: one step of the agent, tried by hand.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use assisted_agent::{HostSteps, Instruction, Limits, Steps};
use assisted_hostinfo::Root;

use crate::{logging, print};

/// Run one step as the agent would: output on standard output, errors on standard error, its exit code
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Kind of step, such as inventory or domain-resolution
    #[arg(value_name = "TYPE")]
    step_type: String,
    /// The step's arguments, mostly one JSON text
    args: Vec<String>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    logging::to_stderr();
    let steps = HostSteps::new(Root::live(), None);
    let limit: Duration = Limits::default().step;
    let outcome = crate::block_on(async {
        let mut instruction =
            Instruction { step_type: args.step_type, args: args.args, ..Instruction::default() };
        if instruction.step_type == "inventory" && instruction.args.is_empty() {
            instruction.args.push(steps.host_id().await.to_string());
        }
        tokio::time::timeout(limit, steps.run(&instruction)).await
    })?
    .with_context(|| format!("the step was timed out after {} seconds", limit.as_secs()))?;
    if !outcome.output.is_empty() {
        print(&outcome.output)?;
    }
    if !outcome.error.is_empty() {
        writeln!(std::io::stderr(), "{}", outcome.error)?;
    }
    // What doesn't fit into a byte, such as -1, is the last of them.
    Ok(ExitCode::from(u8::try_from(outcome.exit_code).unwrap_or(u8::MAX)))
}
