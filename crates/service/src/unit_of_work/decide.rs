//! The way of most requests about a cluster: loaded, decided by the domain, written.

use assisted_core::model::decision::Decision;
use assisted_core::model::facts::Facts;
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
}
