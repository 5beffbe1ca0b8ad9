//! What knows Kubernetes, or reads its manifests: left out of a build without the feature `kubernetes`, which is done sooner.

mod agent_client;
mod capi;
mod controller;
mod service_operator;
mod webhook;

use std::ffi::OsString;
use std::io::BufReader;

use anyhow::Result;
use assisted_base::error::chain;
use assisted_console::Failure;
use assisted_kubeapi::classification::serve as serve_queries;
use clap::Subcommand;

use crate::runtime;

/// Name of the command that answers queries.
pub const QUERIES: &str = "answer-queries";

/// Names under which the program is one of these commands.
pub const NAMES: [(&str, &str); 5] = [
    (agent_client::NAME, agent_client::NAME),
    (service_operator::PROGRAM, "service-operator"),
    (webhook::PROGRAM, "webhook"),
    // Its link in images that existing units call.
    ("agent-based-installer-register-cluster-and-infraenv", agent_client::NAME),
    ("assisted-installer-controller", "controller"),
];

/// Exit code for arguments that say nothing that can be done. The units of an agent-based installer's ISO know 0 and 1 alone
/// (running §10.1).
pub fn usage_code(arguments: &[OsString]) -> u8 {
    match arguments.get(1) {
        Some(command) if command == agent_client::NAME => 1,
        _ => 2,
    }
}

/// What is run in a cluster, or beside one.
#[derive(Subcommand)]
pub enum Command {
    Controller(controller::Controller),
    ServiceOperator(service_operator::ServiceOperator),
    Webhook(Box<webhook::Webhook>),
    Capi(capi::Capi),
    #[command(name = agent_client::NAME)]
    AgentClient(Box<agent_client::AgentClient>),
    /// Answer queries of AgentClassifications, one a line: started by the service, which limits its memory
    #[command(name = QUERIES, hide = true)]
    AnswerQueries,
}

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// What it could not do.
    pub fn run(self) -> Result<(), Failure> {
        let done = match self {
            Self::Controller(controller) => controller.run(),
            Self::ServiceOperator(operator) => operator.run(),
            Self::Webhook(webhook) => webhook.run(),
            Self::Capi(capi) => capi.run(),
            Self::AgentClient(client) => return runtime()?.block_on(client.run()),
            Self::AnswerQueries => serve_queries(BufReader::new(std::io::stdin()), std::io::stdout())
                .map_err(anyhow::Error::from),
        };
        done.map_err(|error| Failure::Refused(chain(error.as_ref())))
    }
}
