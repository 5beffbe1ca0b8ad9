//! Custom manifests: what may be uploaded, under which name, and when (service-api §8).

mod content;

use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::ManifestFolder;

use crate::model::refusal::{Refusal, RefusalKind};

pub use content::{LARGEST, check, decode};

/// Manifests of one cluster at most: far above what anybody installs, and low enough to list them at once.
pub const MOST: usize = 5000;

/// Longest file name in bytes, as on every file system.
const LONGEST_NAME: usize = 255;

/// A manifest of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestPath<'a> {
    pub cluster_id: ClusterId,
    pub folder: ManifestFolder,
    pub file_name: &'a str,
}

impl ManifestPath<'_> {
    /// The manifest's path, as refusals name it: `<folder>/<file>`.
    fn path(&self) -> String {
        format!("{}/{}", self.folder, self.file_name)
    }

    /// What follows the first part of the name; manifests in patch form have two dots in their names.
    fn extension(&self) -> &str {
        self.file_name.rfind('.').map_or("", |dot| &self.file_name[dot..])
    }
}

/// The folder that is not this one.
pub fn other(folder: ManifestFolder) -> ManifestFolder {
    match folder {
        ManifestFolder::Manifests => ManifestFolder::Openshift,
        ManifestFolder::Openshift => ManifestFolder::Manifests,
    }
}

/// `NotFound`: there is no such cluster.
pub fn no_cluster() -> Refusal {
    Refusal::not_found("Object Not Found")
}

/// Checks a manifest's name.
///
/// # Errors
///
/// `Unprocessable` for a name that is no plain, visible file name.
pub fn check_name(path: ManifestPath<'_>) -> Result<(), Refusal> {
    let ManifestPath { cluster_id, file_name: name, .. } = path;
    let refused = |why: &str| {
        Err(Refusal::new(
            RefusalKind::Unprocessable,
            format!("Cluster manifest {name} for cluster {cluster_id} {why}"),
        ))
    };
    let stem = &name[..name.len() - path.extension().len()];
    let unprintable = name.chars().any(|letter| letter.is_control() || letter == '\\');
    if name.starts_with('.') || stem.trim().is_empty() || unprintable || name.len() > LONGEST_NAME {
        return refused("has an invalid filename.");
    }
    if name.contains(' ') {
        return refused("should not include a space in its name.");
    }
    if name.contains('/') {
        return refused("should not include a directory in it's name.");
    }
    Ok(())
}

/// Manifests may be changed and deleted until the installation begins.
///
/// # Errors
///
/// `Invalid` after that.
pub fn check_changeable(cluster: &Cluster) -> Result<(), Refusal> {
    use ClusterStatus::{Insufficient, PendingForInput, Ready};
    if matches!(cluster.status, PendingForInput | Insufficient | Ready) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "cluster {} is not in pre-installation states, can't modify manifests after installation has been started",
        cluster.id
    )))
}

/// `Invalid`: the other folder has a manifest of this name.
pub fn not_distinct(path: ManifestPath<'_>) -> Refusal {
    let ManifestPath { cluster_id, folder, file_name } = path;
    Refusal::invalid(format!(
        "manifest file {file_name} for cluster ID {cluster_id} in folder {folder} cannot be uploaded as it is not distinct \
         between {{manifest, openshift}} folders"
    ))
}

/// `Invalid`: the cluster has as many manifests as it may.
pub fn too_many(path: ManifestPath<'_>) -> Refusal {
    let ManifestPath { cluster_id, file_name, .. } = path;
    Refusal::invalid(format!(
        "manifest file {file_name} for cluster ID {cluster_id} cannot be uploaded as the cluster has {MOST} manifests already"
    ))
}

/// `NotFound`: there is no such manifest.
pub fn no_manifest(path: ManifestPath<'_>) -> Refusal {
    Refusal::not_found(format!(
        "Cluster manifest {} doesn't exist in cluster {}",
        path.path(),
        path.cluster_id
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> Option<(RefusalKind, String)> {
        let cluster_id = ClusterId::default();
        let path = ManifestPath { cluster_id, folder: ManifestFolder::Manifests, file_name: name };
        let refusal = check_name(path).err()?;
        let start = format!("Cluster manifest {name} for cluster {cluster_id} ");
        Some((refusal.kind, refusal.reason.strip_prefix(&start).unwrap().to_owned()))
    }

    #[test]
    fn names() {
        for name in [
            "a.yaml",
            "99-x.yml.patch_01",
            "x..yaml",
            "ü.json",
            "-rf.yml",
            &format!("{}.yaml", "n".repeat(250)),
        ] {
            assert_eq!(refused(name), None, "{name}");
        }
        let long = format!("{}.yaml", "n".repeat(251));
        for (name, why) in [
            ("", "has an invalid filename."),
            (".yaml", "has an invalid filename."),
            (".hidden.yaml", "has an invalid filename."),
            ("..", "has an invalid filename."),
            ("../../etc/passwd", "has an invalid filename."),
            ("  .yaml", "has an invalid filename."),
            ("a\0.yaml", "has an invalid filename."),
            ("a\n.yaml", "has an invalid filename."),
            ("a\\..\\b.yaml", "has an invalid filename."),
            (&long, "has an invalid filename."),
            ("a b.yaml", "should not include a space in its name."),
            ("a/../../b.yaml", "should not include a directory in it's name."),
        ] {
            assert_eq!(refused(name), Some((RefusalKind::Unprocessable, why.to_owned())), "{name:?}");
        }
    }
}
