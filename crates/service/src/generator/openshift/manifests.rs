//! Manifests that the service keeps for a cluster, laid over those that the installer made (install-generation §4.3 to §4.7).

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use assisted_blob::Blob;
use assisted_core::admission::manifest::LARGEST;
use assisted_ignition::install::manifest::Manifest;
use assisted_wire::id::ClusterId;
use assisted_wire::manifest::{ManifestFolder, ManifestSource};
use assisted_wire::platform::PlatformType;
use bytes::Bytes;
use serde_json::Value;

use super::patch;
use crate::Error;
use crate::stored_file::manifest;

/// Folders in the order in which patches are applied and targets looked for.
const FOLDERS: [&str; 2] = ["openshift", "manifests"];

const INFRASTRUCTURE: &str = "manifests/cluster-infrastructure-02-config.yml";
/// Highly available, though one worker alone is not.
const TWO_ROUTERS: &str = "- {op: replace, path: /status/infrastructureTopology, value: HighlyAvailable}\n";

/// Why manifests can't be laid over.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestError {
    #[error("the working directory can't be used: {0}")]
    Disk(#[from] io::Error),
    #[error(
        "Failed to generate additional cluster manifest: the service makes {0} itself, and the folder manifests has one of that \
         name: delete it, or give it another name"
    )]
    Twice(String),
    #[error("failed to read manifest {target}, which {patch} patches: there is none")]
    NoTarget { patch: String, target: String },
    #[error("{name} can't be applied: {source}")]
    Patch { name: String, source: patch::PatchError },
}

/// A manifest that is laid over those of the installer.
#[derive(Clone, Debug)]
pub(super) struct OverlaidManifest {
    pub folder: ManifestFolder,
    pub name: String,
    pub content: Bytes,
    pub by_user: bool,
}

impl OverlaidManifest {
    /// One that the service adds.
    pub(super) fn of_system(Manifest { name, text }: Manifest) -> Self {
        Self { folder: ManifestFolder::Openshift, name, content: text.into(), by_user: false }
    }
}

/// The manifests that a cluster's user has given and that are not empty, in the order of folders and names.
pub(super) async fn of_user(blob: &Blob, cluster_id: ClusterId) -> Result<Vec<OverlaidManifest>, Error> {
    let mut all = Vec::new();
    for (manifest, key) in manifest::list(blob, cluster_id, None).await? {
        if manifest.manifest_source != Some(ManifestSource::User) {
            continue;
        }
        let content = blob.get(&key, LARGEST as u64).await?;
        if content.is_empty() {
            continue;
        }
        let folder = manifest.folder.unwrap_or(ManifestFolder::Manifests);
        all.push(OverlaidManifest { folder, name: manifest.file_name, content, by_user: true });
    }
    Ok(all)
}

/// The user's manifests with those of the system, which stand in the place of a user's of the same name.
pub(super) fn all(
    users: Vec<OverlaidManifest>,
    system: &[Manifest],
) -> Result<Vec<OverlaidManifest>, ManifestError> {
    let is_system = |name: &str| system.iter().any(|manifest| manifest.name == name);
    if let Some(twice) =
        users.iter().find(|given| given.folder == ManifestFolder::Manifests && is_system(&given.name))
    {
        return Err(ManifestError::Twice(twice.name.clone()));
    }
    let own = system.iter().map(|Manifest { name, text }| OverlaidManifest {
        folder: ManifestFolder::Openshift,
        name: name.clone(),
        content: text.clone().into(),
        by_user: false,
    });
    let mut all: Vec<OverlaidManifest> = users.into_iter().filter(|given| !is_system(&given.name)).collect();
    all.extend(own);
    Ok(all)
}

/// Whether one of the manifests makes a pool of machines. What follows the first document of a file is not looked at.
pub(super) fn has_pool(given: &[OverlaidManifest], name: &str) -> bool {
    given.iter().any(|given| {
        let Ok(text) = std::str::from_utf8(&given.content) else { return false };
        let first = documents(text).into_iter().next().unwrap_or_default();
        let Ok(object) = serde_yaml_ng::from_str::<Value>(&first) else { return false };
        object["kind"] == "MachineConfigPool" && object["metadata"]["name"] == name
    })
}

/// Machines of these platforms are not made by the cluster: what the installer made for that is removed.
pub(super) fn drop_machines(dir: &Path, platform: PlatformType) -> io::Result<()> {
    if !matches!(platform, PlatformType::Vsphere | PlatformType::Nutanix) {
        return Ok(());
    }
    for path in files(&dir.join("openshift"))? {
        let name = file_name(&path);
        let starts = [
            "_openshift-cluster-api_master-machines-",
            "_openshift-cluster-api_worker-machineset-",
            "_openshift-machine-api_master-control-plane-machine-set",
        ];
        if name.ends_with(".yaml") && starts.iter().any(|part| name.contains(part)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Lays the manifests over those in the folder, and applies all patches. `tag` stands in the names of files that one with
/// several documents becomes: parts of the installation read only the first of a file.
pub(super) fn overlay_manifests(
    dir: &Path,
    given: &[OverlaidManifest],
    tag: &str,
    one_worker: bool,
) -> Result<(), ManifestError> {
    for OverlaidManifest { folder, name, content, by_user } in given {
        let folder = dir.join(folder.as_str());
        fs::create_dir_all(&folder)?;
        let parts = if *by_user { expanded(name, content, tag) } else { Vec::new() };
        if parts.is_empty() {
            write(&folder.join(name), content)?;
        }
        for (name, text) in parts {
            write(&folder.join(name), text.as_bytes())?;
        }
    }
    for folder in FOLDERS {
        for path in files(&dir.join(folder))? {
            let name = file_name(&path);
            let Some((target, extension)) = name.rsplit_once('.') else { continue };
            if !extension.starts_with("patch") {
                continue;
            }
            let there =
                FOLDERS.iter().map(|folder| dir.join(folder).join(target)).find(|path| path.is_file());
            let there = there
                .ok_or_else(|| ManifestError::NoTarget { patch: name.clone(), target: target.to_owned() })?;
            apply(&there, &name, &fs::read_to_string(&path)?)?;
            fs::remove_file(&path)?;
        }
    }
    let infrastructure = dir.join(INFRASTRUCTURE);
    if one_worker {
        apply(&infrastructure, "the topology of one worker", TWO_ROUTERS)?;
    }
    Ok(())
}

fn apply(target: &Path, name: &str, text: &str) -> Result<(), ManifestError> {
    let patched = patch::apply(&fs::read_to_string(target)?, text);
    let patched = patched.map_err(|source| ManifestError::Patch { name: name.to_owned(), source })?;
    Ok(write(target, patched.as_bytes())?)
}

/// The files that one with several documents becomes; none when it has one or none, or is no YAML.
fn expanded(name: &str, content: &[u8], tag: &str) -> Vec<(String, String)> {
    let Some((stem, extension)) = name.rsplit_once('.').filter(|(_, end)| matches!(*end, "yaml" | "yml"))
    else {
        return Vec::new();
    };
    let documents = std::str::from_utf8(content).map(documents).unwrap_or_default();
    if documents.len() < 2 {
        return Vec::new();
    }
    let part = |(number, text)| (format!("{stem}-{tag}-{number:02}.{extension}"), text);
    documents.into_iter().enumerate().map(part).collect()
}

/// The documents of a text as they stand in it, but for those without content.
pub(crate) fn documents(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in text.split_inclusive('\n') {
        let rest =
            line.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if let Some(rest) = rest {
            all.push(rest.trim_start().to_owned());
        } else if let Some(last) = all.last_mut().filter(|_| line.trim_end() != "...") {
            last.push_str(line);
        }
    }
    let empty =
        |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#') || line.starts_with('%');
    all.retain(|document| !document.lines().all(empty));
    all
}

/// The files of a folder, in order; none when there is no folder.
pub(super) fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes a file that nobody else may read.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(folder: ManifestFolder, name: &str, content: &str) -> OverlaidManifest {
        OverlaidManifest { folder, name: name.to_owned(), content: content.to_owned().into(), by_user: true }
    }

    fn tree(made: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in made {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    fn listed(dir: &Path) -> Vec<String> {
        let of = |folder: &&str| {
            let names = files(&dir.join(folder))
                .unwrap()
                .into_iter()
                .map(|path| file_name(&path))
                .collect::<Vec<_>>();
            names.into_iter().map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
        };
        FOLDERS.iter().flat_map(of).collect()
    }

    use ManifestFolder::{Manifests, Openshift};

    #[test]
    fn laid_over_split_and_patched() {
        let dir = tree(&[
            ("manifests/a.yml", "x: 1\n"),
            ("openshift/99-worker.yaml", "generated: true\n"),
            (INFRASTRUCTURE, "status: {infrastructureTopology: SingleReplica}\n"),
        ]);
        let all = [
            given(Manifests, "many.yaml", "# first\n---\na: 1\n--- # second\nb: 2\n...\n---\n\n"),
            given(Manifests, "one.yaml", "---\nonly: 1\n---\n# nothing\n"),
            given(Openshift, "99-worker.yaml", "own: true\n"),
            given(Openshift, "a.yml.patch_x", "- {op: replace, path: /x, value: 2}\n"),
            given(Manifests, "many-abcdefg-01.yaml.patch", "- {op: add, path: /c, value: 3}\n"),
        ];
        overlay_manifests(dir.path(), &all, "abcdefg", true).unwrap();
        assert_eq!(
            listed(dir.path()),
            [
                "openshift/99-worker.yaml",
                "manifests/a.yml",
                "manifests/cluster-infrastructure-02-config.yml",
                "manifests/many-abcdefg-00.yaml",
                "manifests/many-abcdefg-01.yaml",
                "manifests/one.yaml",
            ]
        );
        let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
        assert_eq!(
            (read("manifests/a.yml"), read("openshift/99-worker.yaml")),
            ("x: 2\n".into(), "own: true\n".into())
        );
        assert_eq!(read("manifests/many-abcdefg-00.yaml"), "a: 1\n");
        assert_eq!(read("manifests/many-abcdefg-01.yaml"), "b: 2\nc: 3\n");
        assert!(read(INFRASTRUCTURE).contains("HighlyAvailable"));
    }

    #[test]
    fn patches_without_target() {
        let dir = tree(&[]);
        let all = [given(Manifests, "none.yaml.patch", "- {op: remove, path: /x}\n")];
        let error = overlay_manifests(dir.path(), &all, "t", false).unwrap_err();
        assert!(error.to_string().starts_with("failed to read manifest none.yaml"), "{error}");
    }

    #[test]
    fn manifests_of_the_system_stay_whole() {
        let dir = tree(&[]);
        let all = [OverlaidManifest { by_user: false, ..given(Openshift, "s.yaml", "a: 1\n---\nb: 2\n") }];
        overlay_manifests(dir.path(), &all, "t", false).unwrap();
        assert_eq!(listed(dir.path()), ["openshift/s.yaml"]);
    }

    #[test]
    fn pools() {
        let all = [given(
            Manifests,
            "p.yaml",
            "---\nkind: MachineConfigPool\nmetadata: {name: infra}\n---\nkind: MachineConfigPool\nmetadata: {name: second}\n",
        )];
        assert!(has_pool(&all, "infra") && !has_pool(&all, "second") && !has_pool(&all, "other"));
    }

    #[test]
    fn machines_of_platforms() {
        let made = [
            ("openshift/99_openshift-cluster-api_master-machines-0.yaml", ""),
            ("openshift/99_openshift-cluster-api_worker-machineset-0.yaml", ""),
            ("openshift/99_openshift-machine-api_master-control-plane-machine-set.yaml", ""),
            ("openshift/99_openshift-cluster-api_hosts-0.yaml", ""),
        ];
        let dir = tree(&made);
        drop_machines(dir.path(), PlatformType::Baremetal).unwrap();
        assert_eq!(listed(dir.path()).len(), 4);
        drop_machines(dir.path(), PlatformType::Vsphere).unwrap();
        assert_eq!(listed(dir.path()), ["openshift/99_openshift-cluster-api_hosts-0.yaml"]);
    }
}
