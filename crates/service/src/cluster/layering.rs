//! The images of a cluster's nodes that are built while it is installed (ocl-day1 §B10.1).

use assisted_core::decide::cluster::layering;
use assisted_core::model::facts::Facts;
use assisted_store::Deleted;
use assisted_wire::id::ClusterId;
use assisted_wire::on_cluster_layering::{LayeringReport, LayeringState};
use bytes::Bytes;

use super::Clusters;
use crate::attempt::{attempt, final_error};
use crate::not_found::no_cluster;
use crate::{Caller, Error};

impl Clusters {
    /// How the images are; of a cluster that has none of its own, that it is not done.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn get_layering(&self, _: &Caller, id: ClusterId) -> Result<LayeringState, Error> {
        Ok(layering::state(&self.facts_of(id).await?))
    }

    /// Takes what a builder, the controller or a host reports of a pool's image.
    ///
    /// # Errors
    ///
    /// 404 without the cluster or for a pool whose image is not built, 409 while it is not installed or for what is older than what is
    /// known, 422 for an image that nodes can't be given, or for a report that says nothing.
    pub async fn report_layering(
        &self,
        caller: &Caller,
        id: ClusterId,
        pool: &str,
        report: LayeringReport,
    ) -> Result<(), Error> {
        let decide = |facts: &Facts| Ok(layering::report(facts, pool, report.clone())?);
        attempt!(self.database, caller, self.database.decide(caller, id, &decide))?;
        Ok(())
    }

    /// The MachineOSConfig of a pool, as JSON, which is YAML too.
    ///
    /// # Errors
    ///
    /// 404 without the cluster, or when there is none.
    pub async fn get_machine_os_config(&self, _: &Caller, id: ClusterId, pool: &str) -> Result<Bytes, Error> {
        let document = layering::machine_os_config(&self.facts_of(id).await?, pool)?;
        Ok(document.to_string().into())
    }

    async fn facts_of(&self, id: ClusterId) -> Result<Facts, Error> {
        let work = self.database.load_cluster(id, Deleted::Hidden).await.map_err(final_error)?;
        Ok(work.ok_or_else(no_cluster)?.facts)
    }
}
