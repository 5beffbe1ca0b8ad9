//! The end of an installation, and what comes after it (service-api §4.11, §4.12).

use assisted_core::decide::cluster::{day2, finalizing};
use assisted_core::model::facts::Facts;
use assisted_core::model::refusal::Refusal;
use assisted_core::state::cluster::completion;
use assisted_store::Deleted;
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{ClusterFinalizingProgress, CompletionParams};
use assisted_wire::id::ClusterId;

use super::Clusters;
use crate::attempt::{AttemptError, attempt};
use crate::not_found::no_cluster;
use crate::unit_of_work::UnitOfWork;
use crate::{Caller, Error};

impl Clusters {
    /// Records the finalizing stage that the controller reports.
    ///
    /// # Errors
    ///
    /// 400 without a stage or when the cluster is not being installed, 404 without the cluster.
    pub async fn update_finalizing_progress(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: ClusterFinalizingProgress,
    ) -> Result<(), Error> {
        // Spelled as clients know it (state-machines §11).
        let unknown = || Refusal::invalid("invalid finaling stage ''");
        let stage = params.finalizing_stage.ok_or_else(unknown)?;
        let report = |facts: &Facts| Ok(finalizing::report(facts, stage)?);
        attempt!(self.database, caller, self.database.decide(caller, cluster_id, &report)).map(drop)
    }

    /// Hears that the installation is complete, which decides nothing: the service finds out by itself.
    ///
    /// # Errors
    ///
    /// 404 without the cluster.
    pub async fn complete_installation(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: CompletionParams,
    ) -> Result<Cluster, Error> {
        let work =
            attempt!(self.database, caller, self.try_complete_installation(caller, cluster_id, &params))?;
        Self::response(&work)
    }

    async fn try_complete_installation(
        &self,
        caller: &Caller,
        id: ClusterId,
        params: &CompletionParams,
    ) -> Result<UnitOfWork, AttemptError> {
        let mut work = self.database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
        work.request_id = Some(caller.request_id);
        let reported = completion::reported(work.cluster().ok_or_else(no_cluster)?, params);
        work.events.extend(reported);
        Ok(UnitOfWork::new(work.commit(&self.database).await?))
    }

    /// Lets hosts be added to an installed cluster.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, 400 when it is not installed or was not installed here.
    pub async fn transform_to_adding_hosts(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
    ) -> Result<Cluster, Error> {
        let transform = |facts: &Facts| Ok(day2::transform(facts)?);
        let work = attempt!(self.database, caller, self.database.decide(caller, cluster_id, &transform))?;
        Self::response(&work)
    }
}
