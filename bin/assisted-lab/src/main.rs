//! `assisted-lab`: the service tried out without machines, with virtual ones, or with real ones. What serves production links
//! nothing of it.

#[cfg(feature = "machines")]
mod machines;
mod simulate;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use assisted_console::{Failure, Global, colour, reference};
use clap::{CommandFactory, Parser, Subcommand};

/// Tries out assisted: on simulated hosts, on virtual machines, or on real ones.
#[derive(Parser)]
#[command(name = "assisted-lab", version, propagate_version = false)]
struct Program {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Simulate(Box<simulate::Simulate>),
    #[cfg(feature = "machines")]
    #[command(flatten)]
    Machines(machines::Command),
    /// Write the completion script for a shell
    Completion {
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        dir: PathBuf,
    },
    /// Print the command line as Markdown
    #[command(hide = true)]
    Docs,
}

fn main() -> ExitCode {
    let Program { global, command } = Program::parse();
    match run(command, &global) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("assisted-lab"),
    }
}

fn run(command: Command, global: &Global) -> Result<(), Failure> {
    colour::choose(global.color);
    match command {
        Command::Simulate(simulate) => runtime()?.block_on(simulate.run(global)),
        #[cfg(feature = "machines")]
        Command::Machines(command) => command.run(global),
        Command::Completion { shell } => reference::completion(Program::command(), shell),
        Command::Man { dir } => reference::man(Program::command(), &dir),
        Command::Docs => reference::markdown(Program::command(), "Command line of the lab"),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Refused(format!("can't start: {error}")))
}
