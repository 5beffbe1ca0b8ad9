//! An infra-env is changed (service-api §5.3).

use assisted_core::admission::infra_env::update;
use assisted_store::{Deleted, Due, HostFilter};
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::{InfraEnv, InfraEnvUpdateParams};

use super::InfraEnvs;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_infra_env;
use crate::{Caller, Error};

impl InfraEnvs {
    /// Changes an infra-env; a change makes a new image, and hosts are told of new time sources at their next poll. Its cluster
    /// shows what follows at once.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 400 with the first rule that the request breaks, 500 when it does not fit its cluster.
    pub async fn update(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
        params: InfraEnvUpdateParams,
    ) -> Result<InfraEnv, Error> {
        attempt!(self.database, caller, self.try_update(caller, infra_env_id, &params))
    }

    async fn try_update(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        params: &InfraEnvUpdateParams,
    ) -> Result<InfraEnv, AttemptError> {
        let stored = self.database.reader().infra_env(id).await?.ok_or_else(|| no_infra_env(id))?;
        let mut work = match stored.record.infra_env.cluster_id {
            Some(id) => self.database.load_cluster(id, Deleted::Hidden).await?,
            None => None,
        }
        .unwrap_or_else(|| self.database.blank_work());
        work.request_id = Some(caller.request_id);
        let now = work.facts.now;
        let mut updated = update(&stored.record, params, work.cluster(), &self.available.policy(), now)?;
        if !updated.changed {
            return Ok(updated.record.infra_env);
        }
        self.check_images(&updated.record, params.static_network_config.as_ref()).await?;
        self.sign_image_url(&mut updated.record)?;
        updated.record.infra_env.updated_at = now.into();
        work.update_infra_env(updated.record.clone(), stored.version);
        work.events.extend(updated.events);
        if let (Some(usage), Some(mut record)) = (updated.cluster_feature_usage, work.cluster().cloned()) {
            record.cluster.feature_usage = usage;
            work.put_cluster(record);
        }
        if work.cluster().is_none() {
            // Each host that waits in it is judged by its time sources, and by itself.
            let filter = HostFilter { infra_env_id: Some(id), ..HostFilter::default() };
            for row in self.database.reader().hosts(&filter).await? {
                if row.record.host.cluster_id.is_none() {
                    work.batch.mark_due(Due::Host(row.key), now);
                }
            }
        }
        work.refresh_and_mark().await?;
        work.commit(&self.database).await?;
        Ok(updated.record.infra_env)
    }
}
