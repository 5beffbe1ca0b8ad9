//! Where manifests are kept.

use std::collections::BTreeSet;

use assisted_blob::{Blob, Key, KeyError};
use assisted_core::admission::manifest::ManifestPath;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{Manifest, ManifestFolder, ManifestSource};
use bytes::Bytes;

use crate::Error;

/// The file that marks a manifest as a user's.
const MARK: &str = "user-supplied";

/// The keys of a manifest and of its mark; an error for a name that no manifest has.
pub(crate) struct Keys {
    pub(crate) content: Key,
    mark: Key,
}

impl Keys {
    pub(crate) fn new(path: ManifestPath<'_>) -> Result<Self, KeyError> {
        let ManifestPath { cluster_id, folder, file_name } = path;
        // One part of a key: a name with a slash would be another file than the one that is meant.
        if file_name.contains('/') {
            return Err(KeyError::Part);
        }
        Ok(Self {
            content: Key::new(format!("{cluster_id}/manifests/{folder}/{file_name}"))?,
            mark: Key::new(format!("{cluster_id}/manifest-attributes/{folder}/{file_name}/{MARK}"))?,
        })
    }

    /// Keeps a user's manifest.
    pub(crate) async fn put(&self, blob: &Blob, content: impl Into<Bytes>) -> Result<(), Error> {
        // The mark first: a mark without a manifest is nothing, a manifest without one would be taken for the system's.
        blob.put(&self.mark, Bytes::new()).await?;
        Ok(blob.put(&self.content, content).await?)
    }

    /// Deletes a manifest that may be there.
    pub(crate) async fn delete(&self, blob: &Blob) -> Result<(), Error> {
        blob.delete(&self.content).await?;
        blob.delete(&self.mark).await?;
        Ok(())
    }
}

/// Deletes the manifests of a cluster that no user has given.
pub(crate) async fn delete_generated(blob: &Blob, cluster_id: ClusterId) -> Result<(), Error> {
    for (manifest, content) in kept(blob, cluster_id).await? {
        if manifest.manifest_source == Some(ManifestSource::User) {
            continue;
        }
        let folder = manifest.folder.unwrap_or(ManifestFolder::Manifests);
        let keys = Keys::new(ManifestPath { cluster_id, folder, file_name: &manifest.file_name });
        // A user's whose mark was not there yet when the marks were listed has one by now.
        if !blob.exists(&keys.map_err(Error::internal)?.mark).await? {
            blob.delete(&content).await?;
        }
    }
    Ok(())
}

/// Keeps the manifests of the system in the folder of one try to generate, so that those of another, which lost its lease and still
/// writes, are never taken for them. One with the name of a user's stands in its place.
pub(crate) async fn put_generated(
    blob: &Blob,
    cluster_id: ClusterId,
    folder: &str,
    manifests: Vec<(String, Bytes)>,
) -> Result<(), Error> {
    // Those of an older program, and of one that was replaced.
    delete_generated(blob, cluster_id).await?;
    for (file_name, content) in manifests {
        let path = ManifestPath { cluster_id, folder: ManifestFolder::Openshift, file_name: &file_name };
        blob.put(&generated_content(path, folder)?, content).await?;
        Keys::new(path).map_err(Error::internal)?.delete(blob).await?;
    }
    Ok(())
}

/// Where a manifest of the system is, in the folder of a try.
pub(crate) fn generated_content(path: ManifestPath<'_>, generated: &str) -> Result<Key, Error> {
    let ManifestPath { cluster_id, folder, file_name } = path;
    if file_name.contains('/') {
        return Err(Error::internal(KeyError::Part));
    }
    super::key(cluster_id, &format!("{generated}/manifests/{folder}/{file_name}"))
}

/// All manifests of a cluster in the order of their folders and names; those of the system are in the folder that was generated last.
pub(crate) async fn list(
    blob: &Blob,
    cluster_id: ClusterId,
    generated: Option<&str>,
) -> Result<Vec<(Manifest, Key)>, Error> {
    let mut all = kept(blob, cluster_id).await?;
    let Some(generated) = generated else { return Ok(all) };
    let root = format!("{cluster_id}/{generated}/manifests");
    let folder = Key::new(&root).map_err(Error::internal)?;
    for (key, _) in blob.list(&folder).await? {
        let path = key.as_str().strip_prefix(&root).and_then(|path| path.strip_prefix('/'));
        let Some(manifest) = path.and_then(|path| named(path, ManifestSource::System)) else { continue };
        // What a user has put since stands in its place.
        let is_replaced = |(known, _): &(Manifest, Key)| {
            (known.folder, &known.file_name) == (manifest.folder, &manifest.file_name)
        };
        if !all.iter().any(is_replaced) {
            all.push((manifest, key));
        }
    }
    let order = |manifest: &Manifest| {
        (manifest.folder.map(|folder| folder.as_str().to_owned()), manifest.file_name.clone())
    };
    all.sort_by_cached_key(|(manifest, _)| order(manifest));
    Ok(all)
}

/// A manifest by its folder and name.
fn named(path: &str, source: ManifestSource) -> Option<Manifest> {
    let (folder, file_name) = path.split_once('/')?;
    Some(Manifest {
        folder: Some(folder.parse::<ManifestFolder>().ok()?),
        file_name: file_name.to_owned(),
        manifest_source: Some(source),
    })
}

/// Manifests that are no part of what was generated: those of users, and the system's that an older program has kept with them.
async fn kept(blob: &Blob, cluster_id: ClusterId) -> Result<Vec<(Manifest, Key)>, Error> {
    let folder = |name: &str| Key::new(format!("{cluster_id}/{name}")).map_err(Error::internal);
    let marks: BTreeSet<String> = blob
        .list(&folder("manifest-attributes")?)
        .await?
        .into_iter()
        .filter_map(|(key, _)| {
            let mut parts = key.as_str().splitn(3, '/').skip(2);
            Some(parts.next()?.strip_suffix(MARK)?.trim_end_matches('/').to_owned())
        })
        .collect();
    let manifests = blob.list(&folder("manifests")?).await?.into_iter().filter_map(|(key, _)| {
        let path = key.as_str().splitn(3, '/').nth(2)?;
        let source = if marks.contains(path) { ManifestSource::User } else { ManifestSource::System };
        Some((named(path, source)?, key))
    });
    Ok(manifests.collect())
}
