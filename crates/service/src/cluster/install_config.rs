//! The install config of a cluster, and what its user overrides in it (service-api §4.12).

use assisted_core::admission::install_config::{Additions, apply, text};
use assisted_core::layering;
use assisted_core::model::event::catalogue;
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::Refusal;
use assisted_core::model::topology::is_day2;
use assisted_wire::id::ClusterId;
use assisted_wire::secret::Secret;

use super::Clusters;
use crate::attempt::{AttemptError, attempt, final_error};
use crate::not_found::no_cluster;
use crate::{Caller, Error};

/// Stands for the installer's file where there is none.
const NOT_INSTALLED_HERE: &str = "The install config is not available because this cluster resource is used only for adding \
                                  additional hosts to an existing cluster";

impl Clusters {
    /// The install config as it would be now; it holds the pull secret.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 400 for one that is installed already, 409 while something is lacking.
    pub async fn get_install_config(&self, _: &Caller, id: ClusterId) -> Result<Secret, Error> {
        let missing = || Refusal::not_found(format!("Failed to get cluster {id}: record not found"));
        let work = self.database.load_installation(id).await.map_err(final_error)?.ok_or_else(missing)?;
        let cluster = &work.cluster().ok_or_else(missing)?.cluster;
        if is_day2(cluster) {
            return Err(Refusal::invalid(NOT_INSTALLED_HERE).into());
        }
        let config = text(&work.facts, &cluster.install_config_overrides, &self.additions(&work.facts)?);
        Ok(config.map_err(|error| Refusal::conflict(format!("There is no install config yet: {error}")))?)
    }

    /// What the generator puts into a cluster's install config.
    fn additions(&self, facts: &Facts) -> Result<Additions, Error> {
        Ok(self.generator.additions(facts)?)
    }

    /// Replaces what the user overrides; an empty text overrides nothing.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 400 when the overrides don't fit or something is lacking.
    pub async fn update_install_config(
        &self,
        caller: &Caller,
        id: ClusterId,
        overrides: &str,
    ) -> Result<(), Error> {
        attempt!(self.database, caller, self.try_update_install_config(caller, id, overrides))
    }

    async fn try_update_install_config(
        &self,
        caller: &Caller,
        id: ClusterId,
        overrides: &str,
    ) -> Result<(), AttemptError> {
        let mut work = self.database.load_installation(id).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
        text(&work.facts, overrides, &self.additions(&work.facts)?).map_err(Refusal::invalid)?;
        let was_enabled = layering::enabled(&record).is_some();
        apply(&mut record, overrides);
        let is_enabled = layering::enabled(&record).is_some();
        work.put_cluster(record);
        work.events.push(catalogue::INSTALL_CONFIG_APPLIED.of_cluster(id, &[]));
        if is_enabled && !was_enabled {
            work.events.push(catalogue::OCL_ENABLED.of_cluster(id, &[]));
        }
        work.refresh_and_mark().await?;
        work.commit(&self.database).await?;
        Ok(())
    }
}
