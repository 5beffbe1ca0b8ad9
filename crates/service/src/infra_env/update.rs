//! An infra-env is changed (service-api §5.3).

use assisted_core::rules::infra_env::update;
use assisted_store::{Batch, Deleted, Due};
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::{InfraEnv, InfraEnvUpdateParams};

use super::no_infra_env;
use crate::fault::{Fault, attempt};
use crate::work::to_the_end;
use crate::{Caller, Error, Service};

impl Service {
    /// Changes an infra-env; a change makes a new image, and hosts are told of new time sources at their next poll.
    ///
    /// # Errors
    ///
    /// 404 when there is none, 400 with the first rule that the request breaks, 500 when it does not fit its cluster.
    pub async fn update_infra_env(
        &self,
        caller: &Caller,
        infra_env_id: InfraEnvId,
        params: InfraEnvUpdateParams,
    ) -> Result<InfraEnv, Error> {
        attempt!(self, caller, self.try_update_infra_env(caller, infra_env_id, &params))
    }

    async fn try_update_infra_env(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        params: &InfraEnvUpdateParams,
    ) -> Result<InfraEnv, Fault> {
        let stored = self.store().infra_env(id).await?.ok_or_else(|| no_infra_env(id))?;
        let cluster = match stored.record.infra_env.cluster_id {
            Some(id) => self.store().cluster(id, Deleted::Hidden).await?,
            None => None,
        };
        let now = self.now();
        let record = cluster.as_ref().map(|cluster| &cluster.record);
        let mut updated = update(&stored.record, params, record, &self.offered(), now)?;
        if !updated.changed {
            return Ok(updated.record.infra_env);
        }
        self.check_images(&updated.record, params.static_network_config.as_ref()).await?;
        self.sign_image_url(&mut updated.record)?;
        updated.record.infra_env.updated_at = now.into();
        let mut batch = Batch::new();
        batch.update_infra_env(&updated.record, stored.version);
        if let Some(cluster) = &cluster {
            if let Some(usage) = updated.cluster_feature_usage {
                let mut record = cluster.record.clone();
                record.cluster.feature_usage = usage;
                batch.update_cluster(&record, cluster.version);
            }
            batch.mark_due(Due::Cluster(cluster.record.cluster.id), now);
        }
        let (service, request) = (self.clone(), Some(caller.request_id));
        to_the_end(async move {
            service.write_told(batch, &updated.events, request, now).await?;
            service.memory().forget_infra_env(id);
            if let Some(cluster) = &cluster {
                service.memory().forget_cluster(cluster.record.cluster.id);
            }
            Ok(updated.record.infra_env)
        })
        .await
    }
}
