//! Operations on images of nodes that are built at installation; additions to the contract.

use std::path::Path;

use assisted_wire::id::ClusterId;
use assisted_wire::on_cluster_layering::{LayeringReport, LayeringState, Pool};
use assisted_wire::operation::OperationId;

use crate::{Client, Download, Error};

impl Client {
    /// How the images of a cluster's nodes are.
    pub async fn get_on_cluster_layering(&self, cluster_id: ClusterId) -> Result<LayeringState, Error> {
        self.call(OperationId::GetOnClusterLayering).path("cluster_id", cluster_id).send().await
    }

    /// Reports a pool's build, and what hosts do about their images.
    pub async fn report_on_cluster_layering_build(
        &self,
        cluster_id: ClusterId,
        pool: Pool,
        report: &LayeringReport,
    ) -> Result<(), Error> {
        let call = self.call(OperationId::ReportOnClusterLayeringBuild).path("cluster_id", cluster_id);
        call.path("pool", pool).json(report).send_empty().await
    }

    /// Sends an archive of the logs of a pool's build, which stays in place of an earlier one.
    pub async fn upload_on_cluster_layering_logs(
        &self,
        cluster_id: ClusterId,
        pool: Pool,
        archive: &Path,
    ) -> Result<(), Error> {
        let call = self.call(OperationId::UploadOnClusterLayeringLogs).path("cluster_id", cluster_id);
        call.path("pool", pool).file("upfile", archive).send_empty().await
    }

    /// The logs of the build of a pool's image: an archive (tar.gz).
    pub async fn download_on_cluster_layering_logs(
        &self,
        cluster_id: ClusterId,
        pool: Pool,
    ) -> Result<Download, Error> {
        let call = self.call(OperationId::DownloadOnClusterLayeringLogs).path("cluster_id", cluster_id);
        call.path("pool", pool).download().await
    }
}
