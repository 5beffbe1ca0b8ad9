//! Infra-envs that objects of the Kubernetes API describe: found by the object, registered for it, removed with their hosts.

use assisted_core::admission::infra_env::image_event;
use assisted_core::model::cluster::MirrorRegistry;
use assisted_core::model::infra_env::InfraEnvRecord;
use assisted_core::model::object_key::ObjectKey;
use assisted_store::InfraEnvFilter;
use assisted_wire::id::InfraEnvId;
use assisted_wire::infra_env::{InfraEnv, InfraEnvCreateParams};

use super::InfraEnvs;
use crate::attempt::{AttemptError, attempt, final_error};
use crate::not_found::no_infra_env;
use crate::object::{Described, DescribedInfraEnv, Lasting, checked};
use crate::{Caller, Error};

impl InfraEnvs {
    /// The infra-env that an object describes; `None`: it describes none yet.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn of_object(&self, key: &ObjectKey) -> Result<Option<DescribedInfraEnv>, Error> {
        let filter = InfraEnvFilter { object: Some(key.clone()), ..InfraEnvFilter::default() };
        let found = self.database.reader().infra_envs(&filter).await?;
        let described = |record: InfraEnvRecord| DescribedInfraEnv {
            infra_env: record.infra_env,
            pull_secret: record.pull_secret,
            mirror_registry: record.mirror_registry,
            internal_ignition: record.internal_ignition,
        };
        Ok(found.into_iter().next().map(|stored| described(stored.record)))
    }

    /// The object that describes an infra-env.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn object_of(&self, id: InfraEnvId) -> Result<Option<ObjectKey>, Error> {
        let found = self.database.known_infra_env(id).await.map_err(final_error)?;
        Ok(found.and_then(|stored| stored.record.object_key.clone()))
    }

    /// The objects that describe infra-envs, and the infra-envs.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn objects(&self) -> Result<Vec<(ObjectKey, InfraEnvId)>, Error> {
        let filter = InfraEnvFilter { has_object: true, ..InfraEnvFilter::default() };
        let found = self.database.reader().infra_envs(&filter).await?;
        let keyed = |record: InfraEnvRecord| Some((record.object_key?, record.infra_env.id));
        Ok(found.into_iter().filter_map(|stored| keyed(stored.record)).collect())
    }

    /// Registers the infra-env that an object describes.
    ///
    /// # Errors
    ///
    /// 409 when the object has an infra-env, 404 for a cluster that does not exist, else 400 with the first rule that the request
    /// breaks.
    pub async fn register_described(
        &self,
        caller: &Caller,
        params: &InfraEnvCreateParams,
        described: &Described,
    ) -> Result<InfraEnv, Error> {
        let id = InfraEnvId::random();
        attempt!(self.database, caller, self.try_register(caller, id, params, Some(described)))
    }

    /// Which registries stand in for others for an infra-env's hosts; nothing set: those of the service.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn get_mirror_registry(&self, _: &Caller, id: InfraEnvId) -> Result<MirrorRegistry, Error> {
        let found = self.database.known_infra_env(id).await.map_err(final_error)?;
        let stored = found.ok_or_else(|| no_infra_env(id))?;
        Ok(stored.record.mirror_registry.clone().unwrap_or_default())
    }

    /// Sets which registries stand in for others for an infra-env's hosts, as somebody gives them.
    ///
    /// # Errors
    ///
    /// 400 when they can't be read, 404 when there is no such infra-env.
    pub async fn replace_mirror_registry(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        given: MirrorRegistry,
    ) -> Result<MirrorRegistry, Error> {
        self.set_mirror_registry(caller, id, checked(&given)?).await?;
        Ok(given)
    }

    /// Sets which registries stand in for others for an infra-env's hosts; its image is made anew by what is told to hosts at their
    /// next start.
    ///
    /// # Errors
    ///
    /// 404 when there is none.
    pub async fn set_mirror_registry(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        mirrors: Option<&MirrorRegistry>,
    ) -> Result<(), Error> {
        let change = |record: &mut InfraEnvRecord| {
            record.mirror_registry = mirrors.cloned();
            Ok(())
        };
        attempt!(self.database, caller, self.change_infra_env(id, change)).map(drop)
    }

    /// Sets the Ignition config that is laid over that of the image below the user's, which the REST API never tells; whether it is
    /// another one than before: then there is a new image.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env, 400 when the config can't be laid over, or images have no room for it.
    pub async fn set_internal_ignition(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        config: &str,
    ) -> Result<bool, Error> {
        let change = |record: &mut InfraEnvRecord| config.clone_into(&mut record.internal_ignition);
        attempt!(self.database, caller, self.try_change_image(caller, id, change))
    }

    /// Takes settings away that the object gave and gives no more; whether there were any: then there is a new image.
    ///
    /// # Errors
    ///
    /// 404 when there is no such infra-env.
    pub async fn take_away(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        settings: &[Lasting],
    ) -> Result<bool, Error> {
        let change = |record: &mut InfraEnvRecord| {
            for setting in settings {
                match setting {
                    Lasting::SshAuthorizedKey => record.infra_env.ssh_authorized_key.clear(),
                    Lasting::IgnitionConfigOverride => record.infra_env.ignition_config_override.clear(),
                    Lasting::NetworkDiscoveryDelay => record.infra_env.network_discovery_delay_seconds = None,
                }
            }
        };
        attempt!(self.database, caller, self.try_change_image(caller, id, change))
    }

    /// Changes what images are made of; whether it is something else than before.
    async fn try_change_image(
        &self,
        caller: &Caller,
        id: InfraEnvId,
        change: impl Fn(&mut InfraEnvRecord) + Send,
    ) -> Result<bool, AttemptError> {
        let stored = self.database.reader().infra_env(id).await?.ok_or_else(|| no_infra_env(id))?;
        let mut record = stored.record.clone();
        change(&mut record);
        if record == stored.record {
            return Ok(false);
        }
        self.check_images(&record, None).await?;
        self.sign_image_url(&mut record)?;
        let mut work = self.database.blank_work();
        work.request_id = Some(caller.request_id);
        record.infra_env.updated_at = work.facts.now.into();
        work.events.push(image_event(&record.infra_env));
        work.update_infra_env(record, stored.version);
        work.commit(&self.database).await?;
        Ok(true)
    }

    /// Removes an infra-env and its hosts, in whatever state they are; one that is not there is removed already.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn remove_with_hosts(&self, caller: &Caller, id: InfraEnvId) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_remove_with_hosts(caller, id))
    }

    async fn try_remove_with_hosts(&self, caller: &Caller, id: InfraEnvId) -> Result<(), AttemptError> {
        self.database.deregister_hosts(Some(caller.request_id), id).await?;
        let Some(stored) = self.database.reader().infra_env(id).await? else { return Ok(()) };
        self.database.remove_infra_env(caller, &stored).await
    }
}
