//! How the collection of logs goes, as agents and controllers report (state-machines §3.11, §4.10).

use assisted_core::decide::cluster::controller_logs as cluster_logs;
use assisted_core::decide::host::logs as host_logs;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_wire::cluster::LogsState;
use assisted_wire::cluster_params::LogsProgressParams;
use assisted_wire::id::ClusterId;

use crate::attempt::{AttemptError, attempt};
use crate::file::Files;
use crate::not_found::no_host;
use crate::{Caller, Error};

impl Files {
    /// Notes how the collection of the controller's logs goes.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn update_cluster_logs_progress(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: LogsProgressParams,
    ) -> Result<(), Error> {
        let note = |facts: &Facts| Ok(cluster_logs::progress(facts, params.logs_state));
        attempt!(self.database, caller, self.database.decide(caller, cluster_id, &note)).map(drop)
    }

    /// Notes how the collection of a host's logs goes.
    ///
    /// # Errors
    ///
    /// 404 when there is no such host.
    pub async fn update_host_logs_progress(
        &self,
        caller: &Caller,
        host: HostKey,
        params: LogsProgressParams,
    ) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_update_host_logs(caller, host, params.logs_state))
    }

    async fn try_update_host_logs(
        &self,
        caller: &Caller,
        key: HostKey,
        state: LogsState,
    ) -> Result<(), AttemptError> {
        let mut work = self.database.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let host = work.host(key).ok_or_else(|| no_host(key))?;
        let outcome = host_logs::progress(host, state, work.facts.now);
        work.merge(outcome);
        work.mark_due();
        work.commit(&self.database).await?;
        Ok(())
    }
}
