//! Hosts.

use assisted_core::host::record::HostKey;
use assisted_wire::host::{Host, HostList, HostRegistrationResponse};
use assisted_wire::host_params::{
    BindHostParams, HostCreateParams, HostIgnitionParams, HostUpdateParams, InstallerArgsParams,
};
use assisted_wire::id::InfraEnvId;
use assisted_wire::step::StepReply;
use bytes::Bytes;

use crate::{Caller, Error, Service};

/// An agent's poll.
#[derive(Clone, Copy, Debug)]
pub struct Poll<'a> {
    pub host: HostKey,
    /// The host's clock, seconds since the Unix epoch; 0: not told.
    pub timestamp: i64,
    /// Version of the agent that polls, if it tells.
    pub agent_version: Option<&'a str>,
}

impl Service {
    /// Operation `register_host`.
    pub async fn register_host(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
        params: HostCreateParams,
    ) -> Result<HostRegistrationResponse, Error> {
        let _ = (caller, infra_env_id, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `list_hosts`.
    pub async fn list_hosts(&self, caller: &Caller, infra_env_id: InfraEnvId) -> Result<HostList, Error> {
        let _ = (caller, infra_env_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_host`.
    pub async fn get_host(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        let _ = (caller, host);
        Err(Error::internal("not built yet"))
    }

    /// Operation `update_host`.
    pub async fn update_host(
        &self,
        caller: &Caller,
        host: HostKey,
        params: HostUpdateParams,
    ) -> Result<Host, Error> {
        let _ = (caller, host, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `deregister_host`.
    pub async fn deregister_host(&self, caller: &Caller, host: HostKey) -> Result<(), Error> {
        let _ = (caller, host);
        Err(Error::internal("not built yet"))
    }

    /// Operation `get_next_steps`.
    pub async fn get_next_steps(&self, caller: &Caller, poll: Poll<'_>) -> Result<Bytes, Error> {
        let _ = (caller, poll);
        Err(Error::internal("not built yet"))
    }

    /// Operation `post_step_reply`.
    pub async fn post_step_reply(
        &self,
        caller: &Caller,
        host: HostKey,
        reply: StepReply,
    ) -> Result<(), Error> {
        let _ = (caller, host, reply);
        Err(Error::internal("not built yet"))
    }

    /// Operation `bind_host`.
    pub async fn bind_host(
        &self,
        caller: &Caller,
        host: HostKey,
        params: BindHostParams,
    ) -> Result<Host, Error> {
        let _ = (caller, host, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `unbind_host`.
    pub async fn unbind_host(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        let _ = (caller, host);
        Err(Error::internal("not built yet"))
    }

    /// Operation `reset_host`.
    pub async fn reset_host(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        let _ = (caller, host);
        Err(Error::internal("not built yet"))
    }

    /// Operation `reset_host_validation`.
    pub async fn reset_host_validation(
        &self,
        caller: &Caller,
        host: HostKey,
        validation_id: &str,
    ) -> Result<(), Error> {
        let _ = (caller, host, validation_id);
        Err(Error::internal("not built yet"))
    }

    /// Operation `update_host_installer_args`.
    pub async fn update_host_installer_args(
        &self,
        caller: &Caller,
        host: HostKey,
        params: InstallerArgsParams,
    ) -> Result<Host, Error> {
        let _ = (caller, host, params);
        Err(Error::internal("not built yet"))
    }

    /// Operation `update_host_ignition`.
    pub async fn update_host_ignition(
        &self,
        caller: &Caller,
        host: HostKey,
        params: HostIgnitionParams,
    ) -> Result<(), Error> {
        let _ = (caller, host, params);
        Err(Error::internal("not built yet"))
    }
}
