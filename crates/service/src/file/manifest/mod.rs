//! Custom manifests: files that the installer lays over those that it generates (service-api §8).
//!
//! A manifest's content is a file of its own; an empty file beside it marks those that a user has given.

mod change;
mod read;

use std::sync::Arc;

use assisted_core::admission::manifest::{ManifestPath, no_cluster};
use assisted_core::model::cluster::ClusterRecord;
use assisted_store::Stored;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::ManifestFolder;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::attempt::final_error;
use crate::file::Files;

/// Names a manifest of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    pub cluster_id: ClusterId,
    pub folder: ManifestFolder,
    pub file_name: String,
}

impl ManifestFile {
    /// The manifest as the rules name it.
    fn path(&self) -> ManifestPath<'_> {
        ManifestPath { cluster_id: self.cluster_id, folder: self.folder, file_name: &self.file_name }
    }
}

impl Files {
    /// The cluster that manifests belong to.
    async fn cluster_of_manifests(&self, id: ClusterId) -> Result<Arc<Stored<ClusterRecord>>, Error> {
        Ok(self.database.cached_cluster(id).await.map_err(final_error)?.ok_or_else(no_cluster)?)
    }
}
