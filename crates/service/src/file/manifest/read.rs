//! Reading manifests.

use assisted_core::admission::manifest::no_manifest;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{ListManifests, ManifestSource};

use super::ManifestFile;
use crate::file::Files;
use crate::stored_file::File;
use crate::stored_file::manifest::{Keys, generated_content, list};
use crate::{Caller, Error};

impl Files {
    /// A cluster's manifests; those that the service makes itself only when asked for.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster.
    pub async fn list_cluster_manifests(
        &self,
        _: &Caller,
        cluster_id: ClusterId,
        include_system_generated: bool,
    ) -> Result<ListManifests, Error> {
        let stored = self.cluster_of_manifests(cluster_id).await?;
        let manifests = list(&self.blob, cluster_id, stored.record.generated_folder.as_deref()).await?;
        let manifests = manifests.into_iter().map(|(manifest, _)| manifest);
        let shown = manifests.filter(|manifest| {
            include_system_generated || manifest.manifest_source == Some(ManifestSource::User)
        });
        Ok(ListManifests(shown.collect()))
    }

    /// A manifest's content.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster or no such manifest.
    pub async fn download_cluster_manifest(&self, _: &Caller, file: ManifestFile) -> Result<File, Error> {
        let stored = self.cluster_of_manifests(file.cluster_id).await?;
        let path = file.path();
        let keys = Keys::new(path).map_err(|_| no_manifest(path))?;
        let mut contents = vec![keys.content];
        if let Some(folder) = &stored.record.generated_folder {
            contents.push(generated_content(path, folder)?);
        }
        for content in contents {
            match File::open(&self.blob, &content, &file.file_name).await {
                Err(assisted_blob::Error::NotFound(_) | assisted_blob::Error::Shadowed(_)) => {}
                opened => return Ok(opened?),
            }
        }
        Err(no_manifest(path).into())
    }
}
