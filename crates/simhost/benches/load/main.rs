//! `cargo xtask bench …`: what the system costs under load, each figure beside its goal.
//!
//! The service, its database and the load generator share the machine, as they do in the goals.

// The figures are what the program is for.
#![allow(clippy::print_stdout)]

mod crowd;
mod discovery;
mod hostile;
mod installs;
mod kube;
mod populate;
mod process;
mod replicas;
mod report;
mod service;
mod shapes;
mod soak;
mod traces;
mod visible;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

use service::Engine;

/// Measure the system under load
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    what: What,
    /// Database; by default one after the other
    #[arg(long, global = true)]
    engine: Option<Engine>,
    /// The service [default: the release build]
    #[arg(long, global = true, value_name = "PROGRAM")]
    service: Option<PathBuf>,
    /// Given by cargo
    #[arg(long = "bench", global = true, hide = true)]
    _by_cargo: bool,
}

#[derive(Subcommand)]
enum What {
    /// Polls, reports, registrations and standing cost of the service; the agent's inventory
    Discovery {
        /// Seconds for each measurement
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
    /// Installations at once; many hosts that poll once a minute
    Installs(Installs),
    /// Hosts that poll several replicas, which share a PostgreSQL, while one of them is killed
    Replicas(replicas::Options),
    /// Reports of 16 MiB, and what else is asked of the service meanwhile
    Hostile {
        /// Further hosts that poll once a minute meanwhile
        #[arg(long, default_value_t = 0)]
        hosts: u32,
        /// Seconds for which each shape is sent; with further hosts a minute at the least
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        /// Only these of the shapes, by the names of their rows, such as `routes,time servers`
        #[arg(long, value_delimiter = ',')]
        shapes: Vec<String>,
    },
    /// Installations one after the other, and what the service holds afterwards
    Soak {
        /// For how long, on each database
        #[arg(long, default_value_t = 60)]
        minutes: u64,
        /// Arenas of the service's allocator [default: the allocator's own choice]; with one, what still grows is kept by the service
        #[arg(long)]
        arenas: Option<u32>,
    },
    /// The same requests without export of traces, with a collector, and with one that is away
    Traces {
        /// Seconds for each measurement
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
    /// Objects of the Kubernetes API: Agents that come, report and are quiet; a start beside all of them
    Kube {
        /// Hosts with an Agent each, one hub after the other
        #[arg(long, value_delimiter = ',', default_value = "1000,10000")]
        agents: Vec<u32>,
        /// Seconds for which quiet hosts are watched
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
}

#[derive(clap::Args)]
struct Installs {
    /// Three-node clusters that are installed at once; 0 leaves this out
    #[arg(long, default_value_t = 1_000)]
    clusters: u32,
    /// Simulated seconds per second of the installations
    #[arg(long, default_value_t = 60.0)]
    speed: f64,
    /// Hosts that poll once a minute, one crowd after the other; 0 leaves this out
    #[arg(long, value_delimiter = ',', default_value = "10000,100000")]
    hosts: Vec<u32>,
    /// Seconds for which each crowd is measured
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let cli = Cli::parse();
    // Whoever started this, cargo as a rule, may be killed; what this has started ends with it.
    set_pdeathsig(Signal::SIGTERM)?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        measured = measure(cli) => measured,
        _ = terminate.recv() => bail!("stopped"),
        _ = interrupt.recv() => bail!("stopped"),
    }
}

async fn measure(cli: Cli) -> Result<()> {
    let program = cli.service.map_or_else(|| Ok(target_dir()?.join("release/assisted")), anyhow::Ok)?;
    if let What::Discovery { .. } = cli.what {
        discovery::agent(&target_dir()?.join("host/assisted-host"))?;
    }
    let engines = match (cli.engine, &cli.what) {
        (Some(engine), _) => vec![engine],
        (None, What::Replicas(_)) => vec![Engine::Postgres],
        (None, _) => Engine::value_variants().to_vec(),
    };
    for engine in engines {
        match &cli.what {
            What::Discovery { seconds } => {
                discovery::run(engine, &program, Duration::from_secs(*seconds)).await?;
            }
            What::Installs(options) => {
                if options.clusters > 0 {
                    installs::run(engine, &program, options.clusters, options.speed).await?;
                }
                let crowds: Vec<u32> = options.hosts.iter().copied().filter(|hosts| *hosts > 0).collect();
                if !crowds.is_empty() {
                    crowd::run(engine, &program, &crowds, Duration::from_secs(options.seconds)).await?;
                }
            }
            What::Replicas(options) => {
                ensure!(engine == Engine::Postgres, "replicas share a PostgreSQL: {engine} serves one alone");
                replicas::run(&program, options).await?;
            }
            What::Hostile { hosts, seconds, shapes } => {
                let shapes = shapes::named(shapes)?;
                hostile::run(engine, &program, *hosts, Duration::from_secs(*seconds), &shapes).await?;
            }
            What::Soak { minutes, arenas } => {
                soak::run(engine, &program, Duration::from_secs(minutes * 60), *arenas).await?;
            }
            What::Traces { seconds } => {
                traces::run(engine, &program, Duration::from_secs(*seconds)).await?;
            }
            What::Kube { agents, seconds } => {
                for agents in agents {
                    kube::run(engine, &program, *agents, Duration::from_secs(*seconds)).await?;
                }
            }
        }
    }
    Ok(())
}

/// Where cargo puts what it builds.
fn target_dir() -> Result<PathBuf> {
    // The benchmark itself runs from target/release/deps.
    let own = std::env::current_exe()?;
    own.ancestors().nth(3).map(PathBuf::from).context("the benchmark was moved")
}
