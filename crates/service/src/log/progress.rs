//! How the collection of logs goes, as agents and controllers tell (state-machines §3.11, §4.10).

use assisted_core::cluster::record::ClusterRecord;
use assisted_core::host::record::HostKey;
use assisted_core::refresh::HostChange;
use assisted_store::Deleted;
use assisted_wire::cluster::LogsState;
use assisted_wire::cluster_params::LogsProgressParams;
use assisted_wire::id::ClusterId;

use crate::cluster::no_cluster;
use crate::fault::{Fault, attempt};
use crate::host::no_host;
use crate::{Caller, Error, Service};

impl Service {
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
        let state = params.logs_state;
        let now = self.now();
        let change = |record: &mut ClusterRecord| {
            record.cluster.logs_info = Some(state);
            if state == LogsState::Requested {
                record.cluster.controller_logs_started_at = now.into();
            }
        };
        attempt!(self, caller, self.change_cluster(caller, cluster_id, &change, false))
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
        attempt!(self, caller, self.try_update_host_logs(caller, host, params.logs_state))
    }

    async fn try_update_host_logs(
        &self,
        caller: &Caller,
        key: HostKey,
        state: LogsState,
    ) -> Result<(), Fault> {
        let mut work = self.load_host_alone(key).await?.ok_or_else(|| no_host(key))?;
        work.request_id = Some(caller.request_id);
        let mut record = work.host(key).ok_or_else(|| no_host(key))?.record.clone();
        record.host.logs_info = Some(state);
        if state == LogsState::Requested {
            record.host.logs_started_at = self.now().into();
        }
        work.change_host(HostChange { key, record: Some(record), reports: Vec::new() });
        work.mark_due();
        work.commit(self).await?;
        Ok(())
    }

    /// Changes what is kept of a cluster's logs, and has the cluster looked at; with the event of an upload if it is one.
    pub(super) async fn change_cluster(
        &self,
        caller: &Caller,
        id: ClusterId,
        change: &(impl Fn(&mut ClusterRecord) + Sync),
        uploaded: bool,
    ) -> Result<(), Fault> {
        let mut work = self.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
        if uploaded && record.cluster.controller_logs_collected_at.is_zero() {
            work.events.push(assisted_core::event::catalogue::CLUSTER_LOGS_UPLOADED.of_cluster(id, &[]));
        }
        change(&mut record);
        work.put_cluster(record);
        work.mark_due();
        work.commit(self).await?;
        Ok(())
    }
}
