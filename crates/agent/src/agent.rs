//! The life of the agent: register, poll, register again (agent-protocol §1.12).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assisted_client::{BuildError, Client, Error};
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::HostId;
use assisted_wire::machine;
use assisted_wire::operation::OperationId;
use assisted_wire::secret::Secret;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{error, info};

use crate::config::Config;
use crate::host_key;
use crate::media::Media;
use crate::poll::{PollEnd, Poller};
use crate::register::{NextAction, Registered, Session, react};
use crate::step::Steps;

/// How often a pretended host looks whether it has rebooted.
const MARKER_INTERVAL: Duration = Duration::from_secs(1);

/// How the agent's work ended by itself.
#[derive(Debug)]
pub enum End {
    /// The service refuses this host. The process must stay alive and silent until it is restarted: a unit that starts
    /// it again at once would only ask the same question again.
    Frozen(Error),
    /// A pretended host has rebooted.
    Rebooted,
    /// The image of another agent was pulled; that one is to go on in this one's place.
    Upgraded(String),
    /// The host is to register anew, which is another program's business.
    Register,
}

/// The agent of one host.
#[derive(Debug)]
pub struct Agent<S> {
    config: Config,
    client: Client,
    steps: Arc<S>,
    media: Option<Media>,
    key: Option<Secret>,
}

impl<S: Steps> Agent<S> {
    /// An agent that does `steps`. Reads the CA file and the key; speaks to nobody yet.
    pub fn new(config: Config, steps: S) -> Result<Self, BuildError> {
        let client = config.client()?;
        let key = config.key_file.as_deref().map(host_key::kept_in);
        Ok(Self { config, client, steps: Arc::new(steps), media: None, key })
    }

    /// Watches the medium that the host runs from.
    pub fn watch_media(mut self, media: Media) -> Self {
        self.media = Some(media);
        self
    }

    /// Works until there is nothing left to do. Dropping the future stops everything that runs.
    pub async fn run(&self) -> End {
        tokio::select! {
            end = self.work() => end,
            () = marker(self.config.reboot_marker.as_deref()) => End::Rebooted,
        }
    }

    /// Polls for a host that another program has registered, once (agent-protocol §1.8).
    pub async fn run_steps(&self, host_id: HostId) -> End {
        let session = Session {
            infra_env_id: self.config.infra_env_id,
            host_id,
            agent_version: self.config.agent_version.clone(),
        };
        tokio::select! {
            end = self.poll(session) => match end {
                PollEnd::Register => End::Register,
                PollEnd::Unknown(refused) => frozen(refused),
                PollEnd::Upgraded(image) => End::Upgraded(image),
            },
            () = marker(self.config.reboot_marker.as_deref()) => End::Rebooted,
        }
    }

    async fn poll(&self, session: Session) -> PollEnd {
        self.steps.registered(&session.agent_version);
        let (steps, media, key) = (Arc::clone(&self.steps), self.media.clone(), self.key.clone());
        Poller::new(self.client.clone(), session, steps, media, key, self.config.limits).run().await
    }

    async fn work(&self) -> End {
        loop {
            let begin = Instant::now();
            match self.register().await {
                NextAction::Poll(session) => {
                    info!(host_id = %session.host_id, infra_env_id = %session.infra_env_id, "registered");
                    match self.poll(session).await {
                        PollEnd::Register => sleep_until(begin + self.config.limits.pause).await,
                        PollEnd::Unknown(refused) => return frozen(refused),
                        PollEnd::Upgraded(image) => return End::Upgraded(image),
                    }
                }
                NextAction::Wait(pause) => sleep(pause.max(self.config.limits.pause)).await,
                NextAction::Freeze(refused) => return frozen(refused),
            }
        }
    }

    async fn register(&self) -> NextAction {
        let params = HostCreateParams {
            host_id: self.steps.host_id().await,
            discovery_agent_version: self.config.agent_version.clone(),
        };
        let machine = self.steps.machine().await.and_then(|machine| machine.text());
        let answer: Result<Registered, Error> = self
            .client
            .call(OperationId::RegisterHost)
            .path("infra_env_id", self.config.infra_env_id)
            .header(machine::HEADER, machine)
            .secret_header(machine::KEY_HEADER, self.key.as_ref())
            .header("discovery_agent_version", Some(&params.discovery_agent_version))
            .json(&params)
            .send()
            .await;
        react(answer, self.config.interval)
    }
}

fn frozen(refused: Error) -> End {
    error!(error = %refused, remedy = refused.remedy(), "the service refuses this host; only a restart can change that");
    End::Frozen(refused)
}

async fn marker(path: Option<&Path>) {
    let Some(path) = path else { return std::future::pending().await };
    while !path.exists() {
        sleep(MARKER_INTERVAL).await;
    }
}
