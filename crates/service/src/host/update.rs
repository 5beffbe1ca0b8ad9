//! A user changes how a host is to be installed (service-api §6.4).

use assisted_core::catalogue::feature::usage::Usages;
use assisted_core::decide::host::update::update_host;
use assisted_core::model::host::HostKey;
use assisted_wire::host::Host;
use assisted_wire::host_params::HostUpdateParams;

use super::Hosts;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_host;
use crate::view::host::render_host;
use crate::{Caller, Error};

impl Hosts {
    /// Changes a host; it and its cluster show what follows at once.
    ///
    /// # Errors
    ///
    /// 404 without the host; else as the member's rule says.
    pub async fn update(
        &self,
        caller: &Caller,
        host: HostKey,
        params: HostUpdateParams,
    ) -> Result<Host, Error> {
        attempt!(self.database, caller, self.try_update(caller, host, &params))
    }

    async fn try_update(
        &self,
        caller: &Caller,
        key: HostKey,
        params: &HostUpdateParams,
    ) -> Result<Host, AttemptError> {
        let mut work = self.database.load_host(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        if let (Some(_), None) = (host.record.host.cluster_id, work.cluster()) {
            return Err(Error::internal(format!("can not find a cluster for host {}", key.host_id)).into());
        }
        let outcome = update_host(&work.facts, key, params)?;
        work.merge(outcome);
        if params.host_name.is_some() {
            work.record_usage(Usages::set_requested_hostname);
        }
        work.refresh_and_mark().await?;
        let facts = work.commit(&self.database).await?;
        let host = facts.host(key)?;
        Ok(render_host(host, facts.cluster.as_ref(), false))
    }
}
