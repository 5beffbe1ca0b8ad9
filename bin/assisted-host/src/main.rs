//! The program that goes onto hosts: the agent, the installer, and each of the agent's probes for a person to try.
//!
//! Called under the name of one of its parts (`agent`, `next_step_runner`, `installer`, `inventory`,
//! `logs_sender`, `free_addresses`, `disk_speed_check`) it is that part, as existing units and containers expect; called `cp` or
//! `nsenter` it is what an image with nothing else in it needs of these.

mod agent;
mod args;
mod container;
mod dry_run;
mod inspect;
mod installer;
mod inventory;
mod journal;
mod logging;
mod logs_sender;
mod node_build;
mod ocl;
mod step;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What runs on a host: the agent and its probes, the installer.
#[derive(Debug, Parser)]
#[command(name = "assisted-host", version, max_term_width = 100, args_override_self = true)]
struct Cli {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Agent(Box<agent::Args>),
    NextStepRunner(Box<agent::RunnerArgs>),
    Installer(Box<installer::Args>),
    LogsSender(Box<logs_sender::Args>),
    Inventory(Box<inventory::Args>),
    Inspect(Box<inspect::Args>),
    Ocl(ocl::Args),
    Step(step::Args),
    #[command(hide = true)]
    Cp(container::Copy),
    #[command(hide = true)]
    Nsenter(container::Enter),
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let argv = args::normalise(std::env::args_os());
    let is_agent = argv.get(1).is_some_and(|part| part == "agent" || part == "next-step-runner");
    let cli = match Cli::try_parse_from(argv) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Units of the agent know 1 as "can't work with these settings" (agent-protocol §1.2).
            return ExitCode::from(match error.exit_code() {
                0 => 0,
                _ if is_agent => 1,
                _ => 2,
            });
        }
    };
    let done = match cli.part {
        Part::Agent(args) => agent::run(*args),
        Part::NextStepRunner(args) => agent::run_steps(*args),
        Part::Installer(args) => installer::run(*args),
        Part::LogsSender(args) => logs_sender::run(*args),
        Part::Inventory(args) => inventory::run(&args),
        Part::Inspect(args) => inspect::run(&args),
        Part::Ocl(args) => ocl::run(&args),
        Part::Step(args) => step::run(args),
        Part::Cp(copy) => copy.run(),
        Part::Nsenter(enter) => enter.run(),
        Part::Version => {
            print(concat!("assisted-host ", env!("CARGO_PKG_VERSION"))).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Writes a result, which alone belongs on standard output.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Runs to the end of `work`. One thread does: the agent waits nearly all the time. A read of a dead disk that is still
/// out doesn't keep the process.
fn block_on<F: Future>(work: F) -> std::io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(done)
}
