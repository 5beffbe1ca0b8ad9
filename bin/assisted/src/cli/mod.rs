//! The command line for people and scripts: a client of the REST API like any other.

mod cluster;
mod cluster_view;
mod cluster_watch;
mod common;
mod download;
mod event;
mod host;
mod infra_env;
mod iso;
mod output;
pub mod reference;
mod render;
pub mod screen;
mod validation;
mod watch;

use clap::{Args, Subcommand};

pub use common::{Failure, file};
pub use output::{Format, bytes, line_if_read, list, printable, show, table};

/// Where the service is, and how answers are shown.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Address of the service
    #[arg(long, global = true, env = "ASSISTED_URL", default_value = "http://127.0.0.1:8090")]
    pub url: String,
    /// Token of a person (`Authorization: Bearer`); better given by the variable than on the command line
    #[arg(long, global = true, env = "ASSISTED_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Certificates (PEM) to trust besides the system's
    #[arg(long, global = true, env = "ASSISTED_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<std::path::PathBuf>,
    /// How to show answers: a table for people, the API's objects for programs
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

/// What can be done to the service's objects.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Clusters: create, list, show, update, install, add hosts, watch, download, cancel, reset, delete
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Infra-envs: what discovery images are made from, and where hosts register
    #[command(subcommand, name = "infra-env")]
    InfraEnv(Box<infra_env::Command>),
    /// Discovery images: address, download, inspect
    #[command(subcommand)]
    Iso(iso::Command),
    /// Hosts: list, show, update, bind, unbind, install, disable, enable, delete, watch
    #[command(subcommand)]
    Host(host::Command),
    /// Events: what happened
    #[command(subcommand)]
    Event(event::Command),
}

impl Command {
    /// Runs the command against the service.
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        let context = common::Context::new(global)?;
        match self {
            Self::Cluster(command) => Box::pin(command.run(&context)).await,
            Self::InfraEnv(command) => command.run(&context).await,
            Self::Iso(command) => Box::pin(command.run(&context)).await,
            Self::Host(command) => Box::pin(command.run(&context)).await,
            Self::Event(command) => command.run(&context).await,
        }
    }
}
