//! What several use cases do alike: a cluster or a host is loaded, the domain decides about it, and the decision is written.

use assisted_core::decide::host::registration::deregistered;
use assisted_core::model::decision::Decision;
use assisted_core::model::event::catalogue;
use assisted_core::model::facts::Facts;
use assisted_core::model::host::HostKey;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_store::{Deleted, HostFilter, Stored};
use assisted_wire::id::{ClusterId, InfraEnvId};
use uuid::Uuid;

use super::UnitOfWork;
use crate::Caller;
use crate::attempt::{AttemptError, retry_on_conflict};
use crate::database::Database;
use crate::not_found::{no_cluster, no_infra_env};

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
    pub(crate) async fn deregister_host(
        &self,
        request_id: Option<Uuid>,
        key: HostKey,
    ) -> Result<bool, AttemptError> {
        let Some(mut work) = self.load_host(key).await? else { return Ok(false) };
        work.request_id = request_id;
        if let Some(host) = work.host(key) {
            let event = deregistered(host);
            work.events.push(event);
        }
        work.remove_host(key);
        if work.cluster().is_some() {
            work.refresh_and_mark().await?;
        }
        work.commit(self).await?;
        Ok(true)
    }

    /// Removes an infra-env that has no hosts.
    pub(crate) async fn remove_infra_env(
        &self,
        caller: &Caller,
        stored: &Stored<InfraEnvRecord>,
    ) -> Result<(), AttemptError> {
        let infra_env = &stored.record.infra_env;
        let mut work = self.blank_work();
        work.request_id = Some(caller.request_id);
        work.remove_infra_env(infra_env.id, stored.version);
        let event = catalogue::INFRA_ENV_DEREGISTERED.of_infra_env(infra_env.id, infra_env.cluster_id, &[]);
        work.events.push(event);
        work.commit(self).await?;
        Ok(())
    }

    /// Deregisters all hosts of an infra-env. Once it is removed, this finds those that registered meanwhile
    /// ([`UnitOfWork::remove_infra_env`]); those that come later find no infra-env ([`Self::ensure_infra_env`]).
    pub(crate) async fn deregister_hosts(
        &self,
        request_id: Option<Uuid>,
        id: InfraEnvId,
    ) -> Result<(), AttemptError> {
        let filter = HostFilter { infra_env_id: Some(id), ..HostFilter::default() };
        loop {
            let Some(host) = self.reader().hosts(&filter).await?.into_iter().next() else { return Ok(()) };
            retry_on_conflict!(self, self.deregister_host(request_id, host.key))?;
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
        Box::pin(self.deregister_host(Some(caller.request_id), key)).await?;
        Err(no_infra_env(key.infra_env_id).into())
    }
}
