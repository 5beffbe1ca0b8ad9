//! The lab's OpenShift, one program: the installer of its releases, what lays the bootstrap's files, the temporary control
//! plane, and the node. Which of them it is says its name, or its first argument. Etcd and Kubernetes are real; everything
//! that OpenShift would run above them and that an installation waits for is here, as small as it can be; and so is the system
//! of machines that are no more than namespaces.

mod bootkube;
mod cluster;
mod config_controller;
mod control_plane;
mod daemon;
mod files;
mod foundation;
mod host;
mod install;
mod kube_api;
mod lease;
mod machine_config;
mod node;
mod node_image;
mod operator;
mod os_image;
mod pki;
mod program;
mod server;
mod vip;
mod waiting;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use assisted_lab_kinds::Outcomes;
use assisted_lab_tools::STAND_INS;
use clap::{Args, Parser, Subcommand};

use crate::program::ProgramRuntime;

#[derive(Parser)]
#[command(name = "lab-cluster", about = "The lab's OpenShift")]
struct Cli {
    #[command(subcommand)]
    applet: Applet,
}

#[derive(Subcommand)]
enum Applet {
    /// The installer of a release
    OpenshiftInstall {
        #[command(subcommand)]
        command: Install,
    },
    /// Lays an Ignition config onto a running system
    MachineConfigDaemon {
        #[command(subcommand)]
        command: Daemon,
    },
    /// The temporary control plane of a bootstrap host
    Bootkube(How),
    /// What is rendered on a bootstrap host, before its temporary control plane starts
    McoBootstrap(How),
    /// Renders the configuration of each pool
    MachineConfigController {
        #[command(subcommand)]
        command: Controller,
    },
    /// Lets nodes in until the temporary control plane has done its part
    ApproveCsr {
        #[arg(long, env = "LAB_APPROVES", value_enum, default_value = "all")]
        nodes: bootkube::Nodes,
    },
    /// Waits until the cluster stands without its bootstrap host
    Progress,
    /// A node of the cluster
    Node {
        #[command(flatten)]
        how: How,
        /// How the installation of operators ends: PACKAGE=fails or PACKAGE=missing, with commas between them
        #[arg(long, env = Outcomes::VARIABLE, default_value = "")]
        operators: Outcomes,
    },
    /// The release's client for a bootstrap host that has none
    NodeImage {
        #[command(subcommand)]
        step: node_image::Step,
    },
}

#[derive(Subcommand)]
enum Install {
    Create {
        target: install::Target,
        #[arg(long)]
        dir: PathBuf,
    },
}

#[derive(Subcommand)]
enum Daemon {
    Start(daemon::Options),
}

#[derive(Subcommand)]
enum Controller {
    Bootstrap(config_controller::Options),
}

#[derive(Args)]
struct How {
    /// How etcd, Kubernetes and pods are run: from images by podman, or directly from PATH
    #[arg(long, env = "LAB_PROGRAMS", default_value = "podman")]
    programs: ProgramRuntime,
}

fn main() -> Result<ExitCode> {
    let mut args: Vec<_> = std::env::args_os().collect();
    let name = args.first().map(PathBuf::from).unwrap_or_default();
    let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    // Whoever unpacks the installer from its release may call it anything: it alone is told to create.
    let applet = match name.as_str() {
        "openshift-install" | "machine-config-controller" | "machine-config-daemon" => Some(name.as_str()),
        _ if args.get(1).is_some_and(|first| first == "create") => Some("openshift-install"),
        _ => None,
    };
    if let Some(applet) = applet {
        args.insert(1, applet.into());
    }
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    assisted_base::http::install_crypto();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if applet.is_none() && STAND_INS.contains(&name.as_str()) {
        let code = runtime.block_on(host::run(&name, args.get(1..).unwrap_or_default()))?;
        return Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)));
    }
    runtime.block_on(run(Cli::parse_from(args).applet))?;
    Ok(ExitCode::SUCCESS)
}

async fn run(applet: Applet) -> Result<()> {
    match applet {
        Applet::OpenshiftInstall { command: Install::Create { target, dir } } => {
            install::create(target, &dir)
        }
        Applet::MachineConfigDaemon { command: Daemon::Start(options) } => daemon::start(&options),
        Applet::McoBootstrap(how) => os_image::prepare(how.programs).await,
        Applet::MachineConfigController { command: Controller::Bootstrap(options) } => {
            config_controller::render(&options)
        }
        Applet::Bootkube(how) => bootkube::run(how.programs).await,
        Applet::ApproveCsr { nodes } => bootkube::approve_requests(nodes).await,
        Applet::Progress => bootkube::progress().await,
        Applet::Node { how, operators } => node::run(how.programs, operators).await,
        Applet::NodeImage { step } => node_image::run(step).await,
    }
}
