//! Operations on images of nodes that are built at installation; additions to the contract.

use assisted_wire::id::ClusterId;
use assisted_wire::on_cluster_layering::{LayeringReport, LayeringState};
use assisted_wire::operation::OperationId;

use crate::{Client, Error};

impl Client {
    /// How the images of a cluster's nodes are.
    pub async fn get_on_cluster_layering(&self, cluster_id: ClusterId) -> Result<LayeringState, Error> {
        self.call(OperationId::GetOnClusterLayering).path("cluster_id", cluster_id).send().await
    }

    /// Reports a pool's build, and what hosts do about their images.
    pub async fn report_on_cluster_layering_build(
        &self,
        cluster_id: ClusterId,
        report: &LayeringReport,
    ) -> Result<(), Error> {
        let call = self.call(OperationId::ReportOnClusterLayeringBuild).path("cluster_id", cluster_id);
        call.path("pool", report.build.pool).json(report).send_empty().await
    }
}
