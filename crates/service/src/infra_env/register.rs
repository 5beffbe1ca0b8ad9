//! An infra-env is registered (service-api §5.2).

use assisted_core::admission::NewObject;
use assisted_core::admission::infra_env::{NewInfraEnv, create};
use assisted_core::model::event::catalogue;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::refusal_with_events::RefusalWithEvents;
use assisted_store::{Batch, Deleted, InfraEnvFilter};
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::{InfraEnv, InfraEnvCreateParams};

use super::InfraEnvs;
use super::image::new_key;
use crate::attempt::{AttemptError, attempt};
use crate::object::Described;
use crate::owner::owner;
use crate::{Caller, Error};

impl InfraEnvs {
    /// Registers an infra-env.
    ///
    /// # Errors
    ///
    /// 404 for a cluster that does not exist, else 400 with the first rule that the request breaks.
    pub async fn register(&self, caller: &Caller, params: InfraEnvCreateParams) -> Result<InfraEnv, Error> {
        let fixed = &self.settings.clusters.infra_env_id;
        let id = if fixed.is_empty() {
            InfraEnvId::random()
        } else {
            fixed.parse().map_err(|error| Error::internal(format!("INFRA_ENV_ID is no UUID: {error}")))?
        };
        attempt!(self.database, caller, self.try_register(caller, id, &params, None))
    }

    pub(super) async fn try_register(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        params: &InfraEnvCreateParams,
        described: Option<&Described>,
    ) -> Result<InfraEnv, AttemptError> {
        let refuse = |refusal: Refusal| {
            let values: &[(&str, &dyn std::fmt::Display)] = &[("error", &refusal.reason)];
            let event = catalogue::INFRA_ENV_REGISTRATION_FAILED.of_infra_env(id, params.cluster_id, values);
            RefusalWithEvents::with_event(refusal, event)
        };
        // Only an id that the settings fix can be taken.
        if !self.settings.clusters.infra_env_id.is_empty()
            && self.database.reader().infra_env(id).await?.is_some()
        {
            return Err(refuse(Refusal::conflict(format!("infraEnv {id} is already registered"))).into());
        }
        if let Some(Described { key, .. }) = described {
            let filter = InfraEnvFilter { object: Some(key.clone()), ..InfraEnvFilter::default() };
            if !self.database.reader().infra_envs(&filter).await?.is_empty() {
                let reason = format!("the infra-env of {key} is registered already");
                return Err(refuse(Refusal::conflict(reason)).into());
            }
        }
        let cluster = match params.cluster_id {
            Some(id) => self.database.reader().cluster(id, Deleted::Hidden).await?,
            None => None,
        };
        let new = NewInfraEnv {
            new: NewObject { id, now: self.database.now(), owner: owner(caller) },
            image_token_key: new_key(),
        };
        let record = cluster.as_ref().map(|cluster| &cluster.record);
        let mut created = create(params, record, &self.available.policy(), &new).map_err(refuse)?;
        if let Some(described) = described {
            created.record.object_key = Some(described.key.clone());
            created.record.mirror_registry.clone_from(&described.mirror_registry);
        }
        if let Err(error) = self.check_images(&created.record, params.static_network_config.as_ref()).await {
            return Err(match error {
                Error::Refused(refusal) => refuse(refusal).into(),
                error => error.into(),
            });
        }
        self.sign_image_url(&mut created.record).map_err(refuse)?;
        let mut batch = Batch::new();
        batch.insert_infra_env(&created.record);
        let (stream, now) = (self.database.stream(), new.new.now);
        stream.changed_infra_env(&mut batch, &created.record.infra_env, now);
        if let (Some(cluster), Some(usage)) = (&cluster, created.cluster_feature_usage) {
            let mut record = cluster.record.clone();
            record.cluster.feature_usage = usage;
            batch.update_cluster(&record, cluster.version);
            stream.changed_cluster(&mut batch, &record, now);
        }
        self.database.commit(batch, &created.events, Some(caller.request_id), new.new.now).await?;
        Ok(created.record.infra_env)
    }
}
