//! What a cluster requires, and what new clusters get by default (service-api §4.14).

use assisted_core::admission::default_config::default_config;
use assisted_core::catalogue::hardware::preflight_requirements;
use assisted_core::catalogue::platform::supported;
use assisted_store::Deleted;
use assisted_wire::cluster::ClusterDefaultConfig;
use assisted_wire::id::ClusterId;
use assisted_wire::platform::PlatformType;
use assisted_wire::requirements::PreflightHardwareRequirements;

use super::Clusters;
use crate::attempt::final_error;
use crate::not_found::no_cluster;
use crate::{Caller, Error};
use assisted_core::model::refusal::Refusal;

impl Clusters {
    /// What a new cluster gets where its creator asks for nothing.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn get_default_config(&self, _: &Caller) -> Result<ClusterDefaultConfig, Error> {
        Ok(default_config(self.database.policy()))
    }

    /// The hardware that a cluster and its operators require.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn get_preflight_requirements(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
    ) -> Result<PreflightHardwareRequirements, Error> {
        let stored =
            self.database.cached_cluster(cluster_id).await.map_err(final_error)?.ok_or_else(no_cluster)?;
        preflight_requirements(&stored.record.cluster, self.database.policy()).map_err(Error::internal)
    }

    /// The platforms that a cluster could be installed on with its hosts.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn get_supported_platforms(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
    ) -> Result<Vec<PlatformType>, Error> {
        let missing = || Refusal::not_found("error getting cluster, error: record not found");
        let work = self
            .database
            .load_cluster(cluster_id, Deleted::Hidden)
            .await
            .map_err(final_error)?
            .ok_or_else(missing)?;
        Ok(supported(&work.facts))
    }
}
