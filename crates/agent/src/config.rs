//! What the agent is told when it starts.

use std::path::PathBuf;
use std::time::Duration;

use assisted_client::{BuildError, Client};
use assisted_wire::id::InfraEnvId;
use assisted_wire::secret::Secret;

/// Longest answer of the service that is read, in bytes: lists of all other hosts' interfaces are what is large.
const LONGEST_ANSWER: usize = 16 << 20;

/// The agent's settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address of the service.
    pub url: String,
    pub infra_env_id: InfraEnvId,
    /// Image reference of the agent, reported to the service.
    pub agent_version: String,
    /// Pause between attempts to register.
    pub interval: Duration,
    /// Certificates (PEM) trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// Token; may be empty where the service asks for none.
    pub token: Secret,
    /// Whether the proxy variables of the environment count.
    pub proxy_from_env: bool,
    pub limits: Limits,
    /// Where the key is kept by which the service knows this agent again until the machine is started anew; without it there is none.
    pub key_file: Option<PathBuf>,
    /// A pretended host has rebooted, and its agent ends, when this file exists.
    pub reboot_marker: Option<PathBuf>,
}

impl Config {
    /// The settings with everything at its default but what has none.
    pub fn new(url: &str, infra_env_id: InfraEnvId) -> Self {
        Self {
            url: url.to_owned(),
            infra_env_id,
            agent_version: String::new(),
            interval: Duration::from_secs(60),
            ca_file: None,
            insecure: false,
            token: Secret::from(""),
            proxy_from_env: true,
            limits: Limits::default(),
            key_file: None,
            reboot_marker: None,
        }
    }

    pub(crate) fn client(&self) -> Result<Client, BuildError> {
        let mut builder = Client::builder(&self.url)
            .user_agent(crate::USER_AGENT)
            .insecure(self.insecure)
            .proxy_from_env(self.proxy_from_env)
            .longest_answer(LONGEST_ANSWER)
            .agent_token(self.token.clone());
        if let Some(path) = &self.ca_file {
            builder = builder.ca_file(path);
        }
        builder.build()
    }
}

/// Bounds on what the service can make a host do, and how long it may be silent.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time for a step.
    pub step: Duration,
    /// Length of a step's output, in bytes.
    pub output: usize,
    /// Steps that run at once.
    pub running: usize,
    /// Shortest pause between two polls, and between two registrations: a service that asks for none isn't flooded.
    pub pause: Duration,
    /// After this long without an answer to its polls the host registers anew.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(600),
            output: 8 << 20,
            running: 32,
            pause: Duration::from_secs(1),
            silence: Duration::from_secs(15 * 60),
        }
    }
}
