//! Operations of people on hosts.

use assisted_wire::host::{Host, HostList};
use assisted_wire::host_params::{BindHostParams, HostIgnitionParams, HostUpdateParams, InstallerArgsParams};
use assisted_wire::id::{ClusterId, HostId, InfraEnvId};
use assisted_wire::operation::OperationId;

use crate::call::Call;
use crate::{Client, Error};

/// Which hosts of a cluster a list shows, and how much of them.
#[derive(Clone, Debug, Default)]
pub struct ClusterHostFilter {
    pub role: Option<String>,
    pub status: Option<String>,
    pub with_inventory: bool,
    pub with_connectivity: bool,
}

impl Client {
    pub(crate) fn host(&self, operation: OperationId, infra_env: InfraEnvId, host: HostId) -> Call<'_> {
        self.call(operation).path("infra_env_id", infra_env).path("host_id", host)
    }

    pub async fn list_hosts(&self, infra_env: InfraEnvId) -> Result<Vec<Host>, Error> {
        let call = self.call(OperationId::ListHosts).path("infra_env_id", infra_env);
        call.send().await.map(|list: HostList| list.0)
    }

    pub async fn list_cluster_hosts(
        &self,
        id: ClusterId,
        filter: &ClusterHostFilter,
    ) -> Result<Vec<Host>, Error> {
        let list: HostList = self
            .call(OperationId::ListClusterHosts)
            .path("cluster_id", id)
            .query("role", filter.role.as_ref())
            .query("status", filter.status.as_ref())
            .query("with-inventory", filter.with_inventory.then_some(true))
            .query("with-connectivity", filter.with_connectivity.then_some(true))
            .send()
            .await?;
        Ok(list.0)
    }

    pub async fn get_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::GetHost, infra_env, host).send().await
    }

    pub async fn update_host(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        params: &HostUpdateParams,
    ) -> Result<Host, Error> {
        self.host(OperationId::UpdateHost, infra_env, host).json(params).send().await
    }

    pub async fn deregister_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<(), Error> {
        self.host(OperationId::DeregisterHost, infra_env, host).send_empty().await
    }

    pub async fn bind_host(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        params: &BindHostParams,
    ) -> Result<Host, Error> {
        self.host(OperationId::BindHost, infra_env, host).json(params).send().await
    }

    pub async fn unbind_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::UnbindHost, infra_env, host).send().await
    }

    /// Lets a host that was left out take part again; an addition to the contract.
    pub async fn enable_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::EnableHost, infra_env, host).send().await
    }

    /// Leaves a host out of validations, roles and the installation; an addition to the contract.
    pub async fn disable_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::DisableHost, infra_env, host).send().await
    }

    /// Lets the next machine that registers under a host's id be another one; an addition to the contract.
    pub async fn release_machine(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::ReleaseMachine, infra_env, host).send().await
    }

    pub async fn reset_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::ResetHost, infra_env, host).send().await
    }

    /// Runs a validation anew, such as the disk speed check.
    pub async fn reset_host_validation(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        validation: &str,
    ) -> Result<Host, Error> {
        let call = self.host(OperationId::ResetHostValidation, infra_env, host);
        call.path("validation_id", validation).send().await
    }

    /// Installs a host into a cluster that is installed already.
    pub async fn install_host(&self, infra_env: InfraEnvId, host: HostId) -> Result<Host, Error> {
        self.host(OperationId::InstallHost, infra_env, host).send().await
    }

    pub async fn update_host_installer_args(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        params: &InstallerArgsParams,
    ) -> Result<Host, Error> {
        self.host(OperationId::UpdateHostInstallerArgs, infra_env, host).json(params).send().await
    }

    pub async fn host_ignition(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
    ) -> Result<HostIgnitionParams, Error> {
        self.host(OperationId::GetHostIgnition, infra_env, host).send().await
    }

    pub async fn update_host_ignition(
        &self,
        infra_env: InfraEnvId,
        host: HostId,
        params: &HostIgnitionParams,
    ) -> Result<(), Error> {
        self.host(OperationId::UpdateHostIgnition, infra_env, host).json(params).send_empty().await
    }
}
