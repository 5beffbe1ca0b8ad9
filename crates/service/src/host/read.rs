//! Reading hosts.

use assisted_core::model::host::HostKey;
use assisted_store::{HostFilter, Reports};
use assisted_wire::host::{Host, HostList};
use assisted_wire::id::{HostId, InfraEnvId};

use super::Hosts;
use crate::attempt::final_error;
use crate::not_found::no_host;
use crate::view::host::render_host;
use crate::{Caller, Error};

impl Hosts {
    /// One host.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn get(&self, _: &Caller, host: HostKey) -> Result<Host, Error> {
        let work =
            self.database.load_host_alone(host).await.map_err(final_error)?.ok_or_else(|| no_host(host))?;
        let facts = work.host(host).ok_or_else(|| no_host(host))?;
        if let (Some(_), None) = (facts.record.host.cluster_id, work.cluster()) {
            return Err(Error::internal(format!("can not find a cluster for host {}", host.host_id)));
        }
        Ok(render_host(facts, work.cluster(), true))
    }

    /// The hosts of an infra-env.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env.
    pub async fn list(&self, caller: &Caller, infra_env_id: InfraEnvId) -> Result<HostList, Error> {
        let ids = self.find(caller, infra_env_id).await?;
        Ok(HostList(self.list_part(infra_env_id, ids).await?))
    }

    /// Their ids, so that they can be listed part by part.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env.
    pub async fn find(&self, _: &Caller, infra_env_id: InfraEnvId) -> Result<Vec<HostId>, Error> {
        self.database
            .known_infra_env(infra_env_id)
            .await
            .map_err(final_error)?
            .ok_or_else(|| crate::not_found::no_infra_env(infra_env_id))?;
        let filter = HostFilter { infra_env_id: Some(infra_env_id), ..HostFilter::default() };
        Ok(self.database.reader().hosts(&filter).await?.iter().map(|row| row.key.host_id).collect())
    }

    /// Some of the hosts that were found, as a list shows them.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list_part(&self, infra_env_id: InfraEnvId, ids: Vec<HostId>) -> Result<Vec<Host>, Error> {
        let (infra_env_id, host_ids) = (Some(infra_env_id), Some(ids));
        let filter = HostFilter { infra_env_id, host_ids, reports: Reports::All, ..HostFilter::default() };
        let hosts = self.database.hosts(&filter).await?;
        Ok(hosts.iter().map(|host| render_host(host, None, true)).collect())
    }
}
