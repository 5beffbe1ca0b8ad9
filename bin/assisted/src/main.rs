//! `assisted`: the service, and the command line that talks to it.

mod backup;
mod cli;
mod config;
mod explain;
mod image_options;
mod image_service;
mod import;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod listener;
mod mirror;
mod serve;
mod signals;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use assisted_base::error::chain;
use assisted_console::{Failure, Global, colour, reference};
use clap::{CommandFactory, Parser, Subcommand};

/// It frees what small pieces leave behind, and threads don't wait for each other in it.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Installs OpenShift on bare-metal machines without a spare bootstrap node.
#[derive(Parser)]
#[command(name = "assisted", version, propagate_version = false)]
struct Program {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Up(Box<serve::up::Up>),
    Serve(Box<serve::Serve>),
    ImageService(Box<image_service::ImageService>),
    #[cfg(feature = "kubernetes")]
    #[command(flatten)]
    Kubernetes(kubernetes::Command),
    /// The environment of the service: what each variable does
    #[command(subcommand)]
    Config(config::Command),
    Backup(backup::Backup),
    Restore(backup::Restore),
    Import(Box<import::Import>),
    /// Installing without the network: what an installation takes, and whether the mirrors have it
    #[command(subcommand)]
    Mirror(Box<mirror::Command>),
    #[command(flatten)]
    Client(cli::Command),
    Explain(explain::Explain),
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
    /// Print what becomes of the variables of the replaced service as Markdown
    #[command(hide = true)]
    EnvironmentDocs,
}

/// Names under which the program is one of its commands.
const NAMES: [(&str, &str); 2] = [("assisted-service", "serve"), ("assisted-image-service", "image-service")];

/// The command line; under another name the program is one of its commands.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let name = arguments.first().and_then(|own| Path::new(own).file_name());
    let names = NAMES.to_vec();
    #[cfg(feature = "kubernetes")]
    let names = [names, kubernetes::NAMES.to_vec()].concat();
    if let Some((_, command)) = names.iter().find(|(program, _)| name == Some(OsStr::new(program))) {
        arguments.insert(1, command.into());
    }
    arguments
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(|error| Failure::Refused(format!("can't start: {error}")))
}

fn main() -> ExitCode {
    let arguments = arguments();
    #[cfg(feature = "kubernetes")]
    let usage = kubernetes::usage_code(&arguments);
    #[cfg(not(feature = "kubernetes"))]
    let usage = 2;
    let program = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(told) => {
            let _ = told.print();
            // What was asked for is no error: help, or the version.
            return if told.use_stderr() { ExitCode::from(usage) } else { ExitCode::SUCCESS };
        }
    };
    match run(program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("assisted"),
    }
}

fn run(program: Program) -> Result<(), Failure> {
    colour::choose(program.global.color);
    match program.command {
        Command::Up(up) => up.run().map_err(|error| Failure::Refused(chain(error.as_ref()))),
        Command::Serve(serve) => serve.run().map_err(|error| Failure::Refused(chain(error.as_ref()))),
        Command::ImageService(service) => {
            service.run().map_err(|error| Failure::Refused(chain(error.as_ref())))
        }
        #[cfg(feature = "kubernetes")]
        Command::Kubernetes(command) => command.run(),
        Command::Config(command) => command.run(&program.global),
        Command::Backup(backup) => runtime()?.block_on(backup.run(&program.global)),
        Command::Import(import) => runtime()?.block_on(import.run(&program.global)),
        Command::Mirror(command) => runtime()?.block_on(command.run(&program.global)),
        Command::Restore(restore) => runtime()?.block_on(restore.run(&program.global)),
        Command::Client(command) => runtime()?.block_on(command.run(&program.global)),
        Command::Explain(explain) => explain.run(),
        Command::Completion { shell } => reference::completion(Program::command(), shell),
        Command::Man { dir } => reference::man(Program::command(), &dir),
        Command::Docs => reference::markdown(Program::command(), "Command line"),
        Command::EnvironmentDocs => assisted_console::output::line(&serve::environment_page()),
    }
}
