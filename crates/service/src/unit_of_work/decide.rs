//! What several use cases do alike: a cluster or a host is loaded, the domain decides about it, and the decision is written.

use assisted_core::decide::host::registration::deregistered;
use assisted_core::model::decision::Decision;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_store::Deleted;
use assisted_wire::id::ClusterId;

use super::UnitOfWork;
use crate::Caller;
use crate::attempt::AttemptError;
use crate::database::Database;
use crate::not_found::no_cluster;

impl Database {
    /// Has the domain decide about a cluster with its hosts, and writes what it wants; 404 without the cluster.
    pub(crate) async fn decide(
        &self,
        caller: &Caller,
        id: ClusterId,
        decide: &(impl Fn(&Facts) -> Result<Decision, AttemptError> + Sync),
    ) -> Result<UnitOfWork, AttemptError> {
        let mut work = self.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let decided = decide(&work.facts)?;
        work.apply_and_mark(decided);
        Ok(UnitOfWork::new(work.commit(self).await?))
    }

    /// Deregisters a host, with what follows for its cluster; whether there is one.
    pub(crate) async fn deregister_host(&self, caller: &Caller, key: HostKey) -> Result<bool, AttemptError> {
        let Some(mut work) = self.load_host(key).await? else { return Ok(false) };
        work.request_id = Some(caller.request_id);
        if let Some(host) = work.host(key) {
            let event = deregistered(host);
            work.events.push(event);
        }
        work.remove_host(key);
        if work.cluster().is_some() {
            work.refresh_and_mark();
        }
        work.commit(self).await?;
        Ok(true)
    }
}
