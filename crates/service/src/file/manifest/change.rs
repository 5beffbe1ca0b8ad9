//! Manifests are uploaded, changed, moved and deleted.

use std::sync::Arc;

use assisted_blob::Error as BlobError;
use assisted_core::admission::manifest::{
    LARGEST, MOST, ManifestPath, check, check_changeable, check_name, decode, no_cluster, not_distinct,
    other, too_many,
};
use assisted_core::catalogue::feature::usage::Usages;
use assisted_core::layering::input::architecture;
use assisted_core::layering::{self, findings, upload};
use assisted_core::model::cluster::ClusterRecord;
use assisted_core::model::layering::ManifestObject;
use assisted_core::model::refusal::{Refusal, RefusalKind};
use assisted_store::Deleted;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{
    CreateManifestParams, Manifest, ManifestFolder, ManifestSource, UpdateManifestParams,
};
use bytes::Bytes;
use tokio::sync::OwnedMutexGuard;

use super::ManifestFile;
use crate::attempt::{AttemptError, attempt};
use crate::database::Database;
use crate::file::Files;
use crate::stored_file::manifest::{Keys, generated_content, list};
use crate::{Caller, Error};

/// The feature that is in use while there is a user's manifest.
const USAGE: &str = "Custom manifest";

impl Files {
    /// Uploads a manifest, in place of one of the same folder and name.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 422 for its name, 400 for its content or when the other folder has the name.
    pub async fn create_cluster_manifest(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: CreateManifestParams,
    ) -> Result<Manifest, Error> {
        let stored = self.cluster_of_manifests(cluster_id).await?;
        let folder = params.folder.unwrap_or(ManifestFolder::Manifests);
        let file = ManifestFile { cluster_id, folder, file_name: params.file_name };
        check_name(file.path())?;
        let content = decode_and_check(file.clone(), params.content).await?;
        let objects = layering_objects(&stored.record, &file, None, content.clone()).await?;
        let turn = self.manifests.lock(cluster_id).await;
        self.check_distinct(file.path(), &stored.record).await?;
        self.keep_manifest(caller, &file, content, Noted::added(&file, objects), None, turn).await?;
        Ok(response(file))
    }

    /// Changes a manifest's content, name or folder; whoever made it, it is a user's from now on.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 400 after the installation has begun and for what would be refused as an upload,
    /// 422 for its name, 500 when there is no such manifest and no new content.
    pub async fn update_cluster_manifest(
        &self,
        caller: &Caller,
        cluster_id: ClusterId,
        params: UpdateManifestParams,
    ) -> Result<Manifest, Error> {
        let stored = self.cluster_of_manifests(cluster_id).await?;
        check_changeable(&stored.record.cluster)?;
        let old = ManifestFile { cluster_id, folder: params.folder, file_name: params.file_name };
        let new = ManifestFile {
            cluster_id,
            folder: params.updated_folder.unwrap_or(old.folder),
            file_name: params.updated_file_name.unwrap_or_else(|| old.file_name.clone()),
        };
        check_name(old.path())?;
        check_name(new.path())?;
        let source = Keys::new(old.path()).map_err(Error::internal)?;
        let turn = self.manifests.lock(cluster_id).await;
        let content = match params.updated_content {
            // By the old name's ending (service-api §8).
            Some(content) => decode_and_check(old.clone(), content).await?,
            None => match self.blob.get(&source.content, LARGEST as u64).await {
                Err(BlobError::NotFound(key) | BlobError::Shadowed(key)) => {
                    return Err(Refusal::internal(format!("object {key} was not found")).into());
                }
                content => content?,
            },
        };
        if new.file_name != old.file_name {
            self.check_distinct(new.path(), &stored.record).await?;
        }
        let objects = layering_objects(&stored.record, &new, Some(&old), content.clone()).await?;
        let noted = Noted { removed: (new != old).then(|| path(&old)), ..Noted::added(&new, objects) };
        let source = (new != old).then_some(source);
        self.keep_manifest(caller, &new, content, noted, source, turn).await?;
        Ok(response(new))
    }

    /// Deletes a manifest that may be there.
    ///
    /// # Errors
    ///
    /// 404 when there is no such cluster, 400 after the installation has begun.
    pub async fn delete_cluster_manifest(&self, caller: &Caller, file: ManifestFile) -> Result<(), Error> {
        let stored = self.cluster_of_manifests(file.cluster_id).await?;
        check_changeable(&stored.record.cluster)?;
        // What no manifest can be called is not there.
        let Ok(keys) = Keys::new(file.path()) else { return Ok(()) };
        let turn = self.manifests.lock(file.cluster_id).await;
        let (database, blob, caller) = (Arc::clone(&self.database), self.blob.clone(), caller.clone());
        // To its end, as what is kept.
        let deleted = tokio::spawn(async move {
            let _turn = turn;
            keys.delete(&blob).await?;
            let gone = Noted { removed: Some(path(&file)), ..Noted::default() };
            if stored.record.layering.manifests.contains_key(&path(&file)) {
                attempt!(database, &caller, record_manifests(&database, &caller, file.cluster_id, &gone))?;
            }
            if Usages::read(&stored.record.cluster.feature_usage).contains(USAGE) {
                let left = list(&blob, file.cluster_id, None).await?;
                let used =
                    left.iter().any(|(manifest, _)| manifest.manifest_source == Some(ManifestSource::User));
                if !used {
                    let none = Noted { used: Some(false), ..gone };
                    attempt!(
                        database,
                        &caller,
                        record_manifests(&database, &caller, file.cluster_id, &none)
                    )?;
                }
            }
            Ok::<_, Error>(())
        });
        deleted.await.map_err(Error::internal)?
    }

    async fn check_distinct(&self, path: ManifestPath<'_>, record: &ClusterRecord) -> Result<(), Error> {
        let twin = ManifestPath { folder: other(path.folder), ..path };
        let mut taken = self.blob.exists(&Keys::new(twin).map_err(Error::internal)?.content).await?;
        if let Some(folder) = &record.generated_folder {
            taken |= self.blob.exists(&generated_content(twin, folder)?).await?;
        }
        if taken { Err(not_distinct(path).into()) } else { Ok(()) }
    }

    async fn keep_manifest(
        &self,
        caller: &Caller,
        file: &ManifestFile,
        content: Bytes,
        noted: Noted,
        moved_from: Option<Keys>,
        turn: OwnedMutexGuard<()>,
    ) -> Result<(), Error> {
        let keys = Keys::new(file.path()).map_err(Error::internal)?;
        if !self.blob.exists(&keys.content).await?
            && list(&self.blob, file.cluster_id, None).await?.len() >= MOST
        {
            return Err(too_many(file.path()).into());
        }
        let (database, blob) = (Arc::clone(&self.database), self.blob.clone());
        let (caller, id) = (caller.clone(), file.cluster_id);
        // To its end, also when whoever asked is gone: the cluster has to know of what is kept for it.
        let kept = tokio::spawn(async move {
            let _turn = turn;
            keys.put(&blob, content).await?;
            attempt!(database, &caller, record_manifests(&database, &caller, id, &noted))?;
            match moved_from {
                Some(old) => old.delete(&blob).await,
                None => Ok(()),
            }
        });
        kept.await.map_err(Error::internal)?
    }
}

/// What a change of manifests means to their cluster.
#[derive(Clone, Debug, Default)]
struct Noted {
    /// Whether there is a user's manifest; `None`: as before.
    used: Option<bool>,
    /// A file that is no longer there.
    removed: Option<String>,
    /// A file, and what of it matters to image mode.
    added: Option<(String, Vec<ManifestObject>)>,
}

impl Noted {
    fn added(file: &ManifestFile, objects: Vec<ManifestObject>) -> Self {
        Self { used: Some(true), removed: None, added: Some((path(file), objects)) }
    }

    fn apply(&self, record: &mut ClusterRecord) {
        if let Some(used) = self.used {
            let mut usages = Usages::read(&record.cluster.feature_usage);
            if usages.contains(USAGE) != used {
                usages.set(USAGE, used);
                record.cluster.feature_usage = usages.write();
            }
        }
        let manifests = &mut record.layering.manifests;
        if let Some(removed) = &self.removed {
            manifests.remove(removed);
        }
        match &self.added {
            Some((file, objects)) if objects.is_empty() => {
                manifests.remove(file);
            }
            Some((file, objects)) => {
                manifests.insert(file.clone(), objects.clone());
            }
            None => {}
        }
    }
}

fn path(file: &ManifestFile) -> String {
    format!("{}/{}", file.folder, file.file_name)
}

/// What of a manifest matters to image mode, and fits it (ocl-day1 §B3.2, "W"). `old`: the file that it takes the place of.
async fn layering_objects(
    record: &ClusterRecord,
    file: &ManifestFile,
    old: Option<&ManifestFile>,
    content: Bytes,
) -> Result<Vec<ManifestObject>, Error> {
    let name = file.file_name.clone();
    let found = tokio::task::spawn_blocking(move || findings::of_manifest(&name, &content));
    let objects = found.await.map_err(Error::internal)?;
    if objects.is_empty() {
        return Ok(objects);
    }
    let replaced = [Some(path(file)), old.map(path)];
    let others =
        record.layering.objects().filter(|(path, _)| !replaced.iter().flatten().any(|own| own == path));
    let others: Vec<_> = others
        .filter_map(|(_, object)| match object {
            ManifestObject::MachineOsConfig(document) => Some(document),
            _ => None,
        })
        .collect();
    let enabled = layering::enabled(record).is_some();
    let violations = upload::check(&objects, &others, enabled, architecture(&record.cluster));
    if violations.is_empty() {
        return Ok(objects);
    }
    let told: Vec<_> = violations.iter().take(10).map(ToString::to_string).collect();
    let (file, id) = (path(file), record.cluster.id);
    let text = format!("Manifest content of file {file} for cluster ID {id} is invalid: {}", told.join(" "));
    Err(Refusal::new(RefusalKind::Unprocessable, text).into())
}

/// Notes with the cluster what it has of manifests; some validations ask for them.
async fn record_manifests(
    database: &Database,
    caller: &Caller,
    id: ClusterId,
    noted: &Noted,
) -> Result<(), AttemptError> {
    let known = database.cached_cluster(id).await?.ok_or_else(no_cluster)?;
    let mut noting = known.record.clone();
    noted.apply(&mut noting);
    if noting.cluster.feature_usage == known.record.cluster.feature_usage
        && noting.layering == known.record.layering
    {
        return Ok(());
    }
    let mut work = database.load_cluster(id, Deleted::Hidden).await?.ok_or_else(no_cluster)?;
    work.request_id = Some(caller.request_id);
    let mut record = work.cluster().cloned().ok_or_else(no_cluster)?;
    noted.apply(&mut record);
    work.put_cluster(record);
    work.refresh_and_mark().await?;
    work.commit(database).await?;
    Ok(())
}

/// Decodes and judges a content apart from the requests of others: up to a mebibyte is parsed.
async fn decode_and_check(file: ManifestFile, encoded: String) -> Result<Bytes, Error> {
    let check = move || {
        let content = decode(file.path(), &encoded)?;
        check(file.path(), &content)?;
        Ok::<_, Refusal>(content)
    };
    Ok(tokio::task::spawn_blocking(check).await.map_err(Error::internal)??.into())
}

fn response(file: ManifestFile) -> Manifest {
    Manifest {
        folder: Some(file.folder),
        file_name: file.file_name,
        manifest_source: Some(ManifestSource::User),
    }
}
