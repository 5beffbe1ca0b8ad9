//! `assisted-host ocl`: builds the images of a cluster's nodes on its bootstrap host, or on a control plane node (ocl-day1 §B5, §B7).

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use assisted_base::process::Tools;
use assisted_ocl::builder::{Builder, Machine, Progress, lay, replicate, stop};
use assisted_wire::on_cluster_layering::BuildLocation;
use clap::{Subcommand, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::logging::{self, Sinks};
use crate::node_build;

/// Build the images of a cluster's nodes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
    /// Folder that stands for the machine's root
    #[arg(long, global = true, hide = true)]
    root: Option<PathBuf>,
    /// Folder with the programs that are run, instead of where PATH says
    #[arg(long, global = true, hide = true)]
    tools: Option<PathBuf>,
    /// Shorten all pauses so many times
    #[arg(long, global = true, hide = true, default_value_t = 1)]
    faster: u32,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Build, or go on with a build that was cut off; at once where all images are ready. Ends with 1 where a build has failed
    Run {
        /// Where this is
        #[arg(long, value_enum, default_value = "bootstrap")]
        location: Location,
        /// Folder with what a Job's pod brings, on a control plane node
        #[arg(long, hide = true)]
        given: Option<PathBuf>,
    },
    /// Build the image of workers on this control plane node, as the installation's Job does
    #[command(hide = true)]
    NodeBuild(node_build::Args),
    /// Have this control plane node's registry serve an image that another node has built, as the installation's Jobs do
    #[command(hide = true)]
    Replicate {
        /// Folder with what the Job's pod brings
        #[arg(long)]
        given: PathBuf,
        /// Image, by its digest
        #[arg(long)]
        image: String,
    },
    /// Print how far the builds are, as JSON
    Status,
    /// End the build that runs, and give back the room that it took
    Stop,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Location {
    Bootstrap,
    ControlPlane,
}

impl Args {
    fn machine(&self) -> Machine {
        let machine = match (&self.root, &self.tools) {
            (None, None) => Machine::live([]),
            (root, tools) => Machine::at(
                root.clone().unwrap_or_else(|| "/".into()),
                tools.clone().map(Tools::at).unwrap_or_default(),
            ),
        };
        machine.faster(self.faster)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let machine = args.machine();
    if let What::Status = args.what {
        let progress = Progress::read(&machine).context("the state of the builds")?.unwrap_or_default();
        crate::print(&serde_json::to_string_pretty(&progress)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let sinks = Sinks { journal: false, file: None, stdout: false, stderr: true, verbose: false };
    logging::begin(&sinks, "ocl", "")?;
    match &args.what {
        What::Run { location, given } => crate::block_on(build(machine, *location, given.as_deref()))?,
        What::NodeBuild(args) => crate::block_on(args.run(&machine))?,
        What::Replicate { given, image } => crate::block_on(async {
            Ok(replicate(&machine, given, image).await.map(|()| ExitCode::SUCCESS)?)
        })?,
        What::Status | What::Stop => {
            crate::block_on(async { Ok(stop(&machine).await.map(|()| ExitCode::SUCCESS)?) })?
        }
    }
}

async fn build(machine: Machine, location: Location, given: Option<&Path>) -> anyhow::Result<ExitCode> {
    let location = match location {
        Location::Bootstrap => BuildLocation::Bootstrap,
        Location::ControlPlane => BuildLocation::ControlPlane,
    };
    if let Some(given) = given {
        lay(&machine, given)?;
    }
    let builder = Builder::new(machine, location)?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = builder.run() => match done? {
            Ok(()) => {
                info!("all images are ready");
                Ok(ExitCode::SUCCESS)
            }
            Err(failed) => Err(failed.into()),
        },
        _ = terminate.recv() => {
            // Its programs died with the future.
            builder.cancelled().await?;
            Ok(ExitCode::FAILURE)
        }
    }
}
