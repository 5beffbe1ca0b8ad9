//! `assisted-host step`: one step of the agent, tried by hand.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use assisted_agent::{HostSteps, Instruction, Limits, Steps};
use assisted_hostinfo::Root;

use crate::dry_run::{self, Settings};
use crate::{logging, print};

/// Run one step as the agent would: output on standard output, errors on standard error, its exit code
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Kind of step, such as inventory or domain-resolution
    #[arg(value_name = "TYPE")]
    step_type: String,
    /// The step's arguments, mostly one JSON text
    args: Vec<String>,
    #[command(flatten)]
    logging: logging::Args,
    #[command(flatten)]
    dry: dry_run::Args,
}

/// Time limit of a disk's check where none is given, in seconds: the service's own default.
const DISK_SPEED_LIMIT: &str = "480.00";

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let dry = Settings::of_process(&args.dry)?;
    logging::start(&args.logging, &args.step_type, &Settings::log_id(dry.as_ref()))?;
    let steps = HostSteps::new(Root::live(), dry.map(|dry| dry.host));
    let limit: Duration = Limits::default().step;
    let outcome = crate::block_on(async {
        let mut instruction =
            Instruction { step_type: args.step_type, args: args.args, ..Instruction::default() };
        if instruction.step_type == "inventory" && instruction.args.is_empty() {
            instruction.args.push(steps.host_id().await.to_string());
        }
        if instruction.step_type == "installation-disk-speed-check" && instruction.args.len() == 1 {
            instruction.args.push(DISK_SPEED_LIMIT.to_owned());
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
