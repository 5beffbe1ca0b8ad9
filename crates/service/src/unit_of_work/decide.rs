//! What several use cases do alike: a cluster or a host is loaded, the domain decides about it, and the decision is written.

use assisted_core::decide::host::registration::deregistered;
use assisted_core::model::decision::Decision;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_store::{Deleted, HostFilter};
use assisted_wire::id::{ClusterId, InfraEnvId};

use super::UnitOfWork;
use crate::attempt::{AttemptError, attempt};
use crate::database::Database;
use crate::not_found::{no_cluster, no_infra_env};
use crate::{Caller, Error};

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

    /// Deregisters all hosts of an infra-env. Called once more when the infra-env is removed, it finds those that registered meanwhile;
    /// those that come later find no infra-env ([`Self::ensure_infra_env`]).
    pub(crate) async fn deregister_hosts(&self, caller: &Caller, id: InfraEnvId) -> Result<(), Error> {
        let filter = HostFilter { infra_env_id: Some(id), ..HostFilter::default() };
        loop {
            let Some(host) = self.reader().hosts(&filter).await?.into_iter().next() else { return Ok(()) };
            attempt!(self, caller, self.deregister_host(caller, host.key))?;
        }
    }

    /// Deregisters a host that was just written if its infra-env has been removed meanwhile: it would stay for ever otherwise.
    ///
    /// # Errors
    ///
    /// 404 when it has.
    pub(crate) async fn ensure_infra_env(&self, caller: &Caller, key: HostKey) -> Result<(), AttemptError> {
        if Box::pin(self.known_infra_env(key.infra_env_id)).await?.is_some() {
            return Ok(());
        }
        Box::pin(self.deregister_host(caller, key)).await?;
        Err(no_infra_env(key.infra_env_id).into())
    }
}
