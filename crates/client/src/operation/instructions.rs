//! Operations of hosts themselves: registration, instructions, replies, progress.

use assisted_wire::host::{HostProgress, HostRegistrationResponse};
use assisted_wire::host_params::HostCreateParams;
use assisted_wire::id::{HostId, InfraEnvId};
use assisted_wire::operation::OperationId;
use assisted_wire::step::{StepReply, Steps};

use crate::{Client, Error};

/// Header that carries the agent's version (agent-protocol §1.5).
const AGENT_VERSION: &str = "discovery_agent_version";

impl Client {
    /// Registers a host; doing it again is harmless.
    pub async fn register_host(
        &self,
        infra_env: InfraEnvId,
        params: &HostCreateParams,
    ) -> Result<HostRegistrationResponse, Error> {
        self.call(OperationId::RegisterHost)
            .path("infra_env_id", infra_env)
            .header(AGENT_VERSION, Some(&params.discovery_agent_version))
            .json(params)
            .send()
            .await
    }

    /// What the host is to do next. `timestamp` is the host's clock, in Unix seconds.
    pub async fn next_steps(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        agent_version: &str,
        timestamp: i64,
    ) -> Result<Steps, Error> {
        self.host(OperationId::GetNextSteps, infra_env, host)
            .header(AGENT_VERSION, Some(agent_version))
            .query("timestamp", Some(timestamp))
            .send()
            .await
    }

    pub async fn post_step_reply(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        agent_version: &str,
        reply: &StepReply,
    ) -> Result<(), Error> {
        self.host(OperationId::PostStepReply, infra_env, host)
            .header(AGENT_VERSION, Some(agent_version))
            .json(reply)
            .send_empty()
            .await
    }

    pub async fn update_host_install_progress(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        progress: &HostProgress,
    ) -> Result<(), Error> {
        self.host(OperationId::UpdateHostInstallProgress, infra_env, host).json(progress).send_empty().await
    }
}
