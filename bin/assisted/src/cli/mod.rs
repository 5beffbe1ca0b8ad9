//! The command line for people and scripts: a client of the REST API like any other.

mod admin;
#[cfg(feature = "kubernetes")]
mod apply;
mod cluster;
mod cluster_view;
mod cluster_wait;
mod cluster_watch;
mod common;
mod download;
mod event;
mod host;
mod image_mode;
mod infra_env;
mod iso;
mod keys;
mod login;
mod machine;
mod manifest;
mod mcp;
mod operator;
pub mod progress;
mod render;
mod save;
mod token;
mod user;
mod validation;
mod watch;

use assisted_console::{Failure, Global};
use clap::Subcommand;
pub use common::Context;
#[cfg(feature = "kubernetes")]
pub use common::{host_name, inventory};

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
    /// Operators that can be installed with a cluster: list, show what each needs and what it would mean for a cluster
    ///
    /// The operator that runs this service on a hub, as an AgentServiceConfig asks for it, is another command: `assisted service-operator`.
    #[command(subcommand)]
    Operator(operator::Command),
    #[cfg(feature = "kubernetes")]
    Apply(Box<apply::Apply>),
    #[cfg(feature = "kubernetes")]
    Diff(apply::Diff),
    /// Machines of a rack by their management controllers (Redfish): make known, list, power, boot an image once
    #[command(subcommand)]
    Machine(machine::Command),
    Mcp(mcp::Mcp),
    /// The service's own work and keys: show, release what was set aside, change keys
    #[command(subcommand)]
    Admin(admin::Command),
    /// Log in; the token is kept in a file that only you can read
    Login(login::Login),
    /// Log out: the token is revoked and forgotten
    Logout,
    /// Users: add, list, change, passwords, remove
    #[command(subcommand)]
    User(user::Command),
    /// API tokens, for programs: create, list, revoke
    #[command(subcommand)]
    Token(token::Command),
}

impl Command {
    /// Runs the command against the service.
    pub async fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global)?;
        match self {
            Self::Cluster(command) => Box::pin(command.run(&context)).await,
            Self::InfraEnv(command) => command.run(&context).await,
            Self::Iso(command) => Box::pin(command.run(&context)).await,
            Self::Host(command) => Box::pin(command.run(&context)).await,
            Self::Event(command) => command.run(&context).await,
            Self::Operator(command) => command.run(&context).await,
            #[cfg(feature = "kubernetes")]
            Self::Apply(apply) => Box::pin(apply.run(&context)).await,
            #[cfg(feature = "kubernetes")]
            Self::Diff(diff) => Box::pin(diff.run(&context)).await,
            Self::Machine(command) => Box::pin(command.run(&context)).await,
            Self::Mcp(mcp) => Box::pin(mcp.run(&context)).await,
            Self::Admin(command) => command.run(&context).await,
            Self::Login(command) => command.run(&context).await,
            Self::Logout => login::logout(&context).await,
            Self::User(command) => command.run(&context).await,
            Self::Token(command) => command.run(&context).await,
        }
    }
}
