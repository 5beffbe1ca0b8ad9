//! Infra-envs that nobody touches and no cluster uses are removed, with their hosts.

use assisted_core::decide::host::registration::deregistered;
use assisted_core::model::event::catalogue;
use assisted_core::model::facts::HostFacts;
use assisted_store::HostFilter;
use assisted_wire::id::InfraEnvId;
use jiff::Timestamp;

use super::{Sweeper, or_log};
use crate::attempt::{AttemptError, retry_on_conflict};

impl Sweeper {
    /// Removes infra-envs that were last changed before; returns how many were found.
    pub(super) async fn remove_unused_infra_envs(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<usize, AttemptError> {
        let found = self.database.reader().unused_infra_envs(before, limit).await?;
        for id in &found {
            // Whoever changes it meanwhile, such as the scheduler that judges its hosts, does not keep it for that.
            or_log(id, retry_on_conflict!(self.database, self.remove_infra_env(*id, before)));
        }
        Ok(found.len())
    }

    async fn remove_infra_env(&self, id: InfraEnvId, before: Timestamp) -> Result<(), AttemptError> {
        let Some(stored) = self.database.reader().infra_env(id).await? else { return Ok(()) };
        let infra_env = &stored.record.infra_env;
        if infra_env.updated_at.0 >= before {
            return Ok(());
        }
        let mut work = self.database.blank_work();
        let filter = HostFilter { infra_env_id: Some(id), ..HostFilter::default() };
        for row in self.database.reader().hosts(&filter).await? {
            let version = row.version;
            let host = self.database.facts_of_host(row).await?;
            work.add_stored(host, version);
        }
        work.events.extend(work.facts.hosts.iter().map(deregistered));
        let keys: Vec<_> = work.facts.hosts.iter().map(HostFacts::key).collect();
        keys.into_iter().for_each(|key| work.remove_host(key));
        work.remove_infra_env(id, stored.version);
        work.events.push(catalogue::INFRA_ENV_DEREGISTERED.of_infra_env(id, infra_env.cluster_id, &[]));
        work.commit(&self.database).await?;
        Ok(())
    }
}
