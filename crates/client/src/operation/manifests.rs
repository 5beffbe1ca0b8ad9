//! Operations on custom manifests.

use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{CreateManifestParams, ListManifests, Manifest, ManifestFolder};
use assisted_wire::operation::OperationId;

use crate::{Client, Download, Error};

impl Client {
    /// The manifests that people added to a cluster.
    pub async fn list_manifests(&self, id: ClusterId) -> Result<Vec<Manifest>, Error> {
        let call = self.call(OperationId::ListClusterManifests).path("cluster_id", id);
        let list: ListManifests = call.send().await?;
        Ok(list.0)
    }

    /// Adds a manifest, or replaces the one of its name; its content is base64.
    pub async fn create_manifest(
        &self,
        id: ClusterId,
        params: &CreateManifestParams,
    ) -> Result<Manifest, Error> {
        self.call(OperationId::CreateClusterManifest).path("cluster_id", id).json(params).send().await
    }

    /// Whether a manifest that is there has this content.
    pub async fn has_manifest(
        &self,
        id: ClusterId,
        folder: ManifestFolder,
        file_name: &str,
        content: &[u8],
    ) -> Result<bool, Error> {
        let download = self.download_manifest(id, folder, file_name).await?;
        // One that is longer is another one.
        Ok(download.bytes(content.len()).await.is_ok_and(|there| there == content))
    }

    /// What a manifest says.
    pub async fn download_manifest(
        &self,
        id: ClusterId,
        folder: ManifestFolder,
        file_name: &str,
    ) -> Result<Download, Error> {
        self.call(OperationId::DownloadClusterManifest)
            .path("cluster_id", id)
            .query("folder", Some(folder))
            .query("file_name", Some(file_name))
            .download()
            .await
    }

    /// Takes a manifest away that somebody added.
    pub async fn delete_manifest(
        &self,
        id: ClusterId,
        folder: ManifestFolder,
        file_name: &str,
    ) -> Result<(), Error> {
        self.call(OperationId::DeleteClusterManifest)
            .path("cluster_id", id)
            .query("folder", Some(folder))
            .query("file_name", Some(file_name))
            .send_empty()
            .await
    }
}
