//! Reading hosts.

use assisted_core::model::facts::HostFacts;
use assisted_core::model::host::HostKey;
use assisted_store::{Deleted, HostFilter, Reports};
use assisted_wire::host::{Host, HostList};
use assisted_wire::id::InfraEnvId;

use super::no_host;
use super::view::shown_host;
use crate::fault::broken;
use crate::{Caller, Error, Service};

impl Service {
    /// One host.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn get_host(&self, _: &Caller, host: HostKey) -> Result<Host, Error> {
        let work = self.load_host_alone(host).await.map_err(broken)?.ok_or_else(|| no_host(host))?;
        let facts = work.host(host).ok_or_else(|| no_host(host))?;
        if let (Some(_), None) = (facts.record.host.cluster_id, work.cluster()) {
            return Err(Error::internal(format!("can not find a cluster for host {}", host.host_id)));
        }
        Ok(shown_host(facts, work.cluster(), true))
    }

    /// The hosts of an infra-env.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env.
    pub async fn list_hosts(&self, _: &Caller, infra_env_id: InfraEnvId) -> Result<HostList, Error> {
        self.known_infra_env(infra_env_id)
            .await
            .map_err(broken)?
            .ok_or_else(|| crate::infra_env::no_infra_env(infra_env_id))?;
        let filter =
            HostFilter { infra_env_id: Some(infra_env_id), reports: Reports::All, ..HostFilter::default() };
        let hosts = self.hosts(&filter).await?;
        Ok(HostList(hosts.iter().map(|host| shown_host(host, None, true)).collect()))
    }

    /// The hosts that a filter selects, as the domain sees them.
    pub(crate) async fn hosts(&self, filter: &HostFilter) -> Result<Vec<HostFacts>, Error> {
        debug_assert!(
            filter.deleted == Deleted::Hidden || filter.cluster_id.is_some() || filter.cluster_ids.is_some()
        );
        Ok(self.store().hosts(filter).await?.into_iter().map(|row| self.host_facts(row)).collect())
    }
}
