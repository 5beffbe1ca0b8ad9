//! `agent-installer-client`: what the units of an agent-based installer's ISO call to set up the service on their rendezvous host
//! (running §10). Every step can be repeated; whatever fails ends it with 1, and its unit starts it again.

mod environment;
mod fencing;
mod hosts;
mod register;

use assisted_client::Client;
use assisted_console::Failure;
use assisted_wire::secret::Secret;
use clap::{Args, Subcommand};

use environment::{ClientConfig, HostFiles, ImportFiles, Manifests, OperatorFile};

/// The name under which the program does nothing else.
pub const NAME: &str = "agent-installer-client";

/// Set up the service of an agent-based installer, from the files of its ISO
///
/// Called under the name `agent-installer-client` the program is this command alone. What it reads is told by the environment;
/// the flags are for people who try it.
#[derive(Args, Debug)]
#[command(name = NAME)]
pub struct AgentClient {
    /// Address of the service
    #[arg(long, env = "SERVICE_BASE_URL", value_name = "URL")]
    service_base_url: String,
    /// Token for the service
    #[arg(long, env = "USER_AUTH_TOKEN", hide_env_values = true, default_value = "")]
    user_auth_token: String,
    #[command(subcommand)]
    step: Step,
}

/// What is done.
#[derive(Subcommand, Debug)]
#[command(rename_all = "camelCase")]
enum Step {
    /// Register the cluster that the manifests describe, unless there is one; set its overrides and extra manifests
    RegisterCluster {
        #[command(flatten)]
        manifests: Manifests,
        #[command(flatten)]
        operators: OperatorFile,
        #[command(flatten)]
        config: ClientConfig,
    },
    /// Register the infra-env that the manifests describe, unless there is one
    RegisterInfraEnv {
        #[command(flatten)]
        manifests: Manifests,
        #[command(flatten)]
        config: ClientConfig,
    },
    /// Give hosts their roles, disks and fencing credentials, until each that is named is there and has them
    Configure(HostFiles),
    /// Import the installed cluster that hosts are added to
    ImportCluster(ImportFiles),
}

impl AgentClient {
    /// Does the step. Whatever fails is a refusal: units know 0 and 1 alone.
    pub async fn run(self) -> Result<(), Failure> {
        let done = self.step().await;
        done.map_err(|failure| Failure::Refused(failure.to_string()))
    }

    async fn step(self) -> Result<(), Failure> {
        let mut builder = Client::builder(self.service_base_url.trim_end_matches('/'))
            .user_agent(concat!("assisted/", env!("CARGO_PKG_VERSION")));
        if !self.user_auth_token.is_empty() {
            builder = builder.user_token(Secret::from(self.user_auth_token));
        }
        let client = builder.build().map_err(|error| Failure::Usage(format!("SERVICE_BASE_URL: {error}")))?;
        match self.step {
            Step::RegisterCluster { manifests, operators, config } => {
                register::cluster(&client, &manifests, &operators, &config).await
            }
            Step::RegisterInfraEnv { manifests, config } => {
                register::infra_env(&client, &manifests, &config).await
            }
            Step::Configure(files) => hosts::configure(&client, &files).await,
            Step::ImportCluster(files) => register::import(&client, &files).await,
        }
    }
}
