//! Hosts of a pool join a cluster and leave it again (service-api §6.5).

use assisted_core::decide::host::binding::{bind_host, unbind_described_host, unbind_host};
use assisted_core::model::decision::Decision;
use assisted_core::model::facts::HostFacts;
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_store::Deleted;
use assisted_wire::host::Host;
use assisted_wire::host_params::BindHostParams;
use jiff::Timestamp;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_host;
use crate::not_found::no_infra_env;
use crate::view::host::raw_host;
use crate::{Caller, Error};

impl Hosts {
    /// Binds a host to a cluster.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 when it is bound or the cluster takes none, 400 when it does not fit, 500 in a wrong state.
    pub async fn bind(&self, caller: &Caller, host: HostKey, params: BindHostParams) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_bind(caller, host, &params))
    }

    async fn try_bind(
        &self,
        caller: &Caller,
        key: HostKey,
        params: &BindHostParams,
    ) -> Result<Host, AttemptError> {
        let mut pool = self.database.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        let host = pool.host(key).ok_or_else(|| no_host(key))?;
        if let Some(bound) = host.record.host.cluster_id {
            return Err(Refusal::conflict(format!(
                "Host {} is already bound to cluster {bound}",
                key.host_id
            ))
            .into());
        }
        let no_cluster = || Refusal::invalid(format!("Failed to find cluster {}", params.cluster_id));
        let mut work =
            self.database.load_cluster(params.cluster_id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let cluster = work.cluster().ok_or_else(no_cluster)?;
        let infra_env = pool.infra_env(key.infra_env_id).ok_or_else(|| no_infra_env(key.infra_env_id))?;
        let outcome = bind_host(host, infra_env, cluster, self.database.policy(), work.facts.now)?;
        pool.merge(outcome);
        work.bind_host(pool);
        work.refresh_and_mark().await?;
        let facts = work.commit(&self.database).await?;
        let host = facts.host(key)?;
        Ok(raw_host(host))
    }

    /// Unbinds a host from its cluster.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 when it can't leave now, 500 in a wrong state.
    pub async fn unbind(&self, caller: &Caller, host: HostKey) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_unbind(caller, host, unbind_host))
    }

    /// Unbinds a host because its object says so, even in the middle of an installation. `reclaimed`: the cluster helps an installed
    /// host to boot the discovery image.
    ///
    /// # Errors
    ///
    /// 404 without the host, 409 when it is not bound, or bound through its infra-env, 500 in a wrong state.
    pub async fn unbind_described(
        &self,
        caller: &Caller,
        host: HostKey,
        reclaimed: bool,
    ) -> Result<Host, Error> {
        let decide = |host: &HostFacts, infra_env: &InfraEnvRecord, now| {
            unbind_described_host(host, infra_env, reclaimed, now)
        };
        attempt!(self.database, caller, self.try_unbind(caller, host, decide))
    }

    async fn try_unbind(
        &self,
        caller: &Caller,
        key: HostKey,
        decide: impl Fn(&HostFacts, &InfraEnvRecord, Timestamp) -> Result<Decision, RefusalWithEvents>,
    ) -> Result<Host, AttemptError> {
        let mut work = self.database.load_host(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        let infra_env = work.infra_env(key.infra_env_id).ok_or_else(|| no_infra_env(key.infra_env_id))?;
        let outcome = decide(host, infra_env, work.facts.now)?;
        work.merge(outcome);
        let shown = work.host(key).map(raw_host).ok_or_else(|| no_host(key))?;
        work.unbind_host(key);
        work.refresh_and_mark().await?;
        work.commit(&self.database).await?;
        Ok(shown)
    }
}
