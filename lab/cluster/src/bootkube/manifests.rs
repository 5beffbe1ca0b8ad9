//! The manifests that the installer of the release laid, and those that were added since.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use assisted_lab_kinds::definitions;
use serde_json::Value;
use tokio::time::sleep;
use tracing::{info, warn};

use super::done::POLL_INTERVAL;
use crate::foundation;
use crate::kube_api::{Applier, Fields, documents};

/// Looks after which an object that the API doesn't take is left out.
const ATTEMPTS: u32 = 240;
const FOLDERS: [&str; 2] = ["manifests", "openshift"];

/// All objects in both folders, in the order of their files' names; of two files with one name the second counts.
pub fn read(folder: &Path) -> Result<Vec<Value>> {
    let mut files = BTreeMap::new();
    for name in FOLDERS {
        let Ok(entries) = std::fs::read_dir(folder.join(name)) else { continue };
        for entry in entries {
            let path = entry?.path();
            let known =
                path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
            if known {
                files.insert(path.file_name().unwrap_or_default().to_owned(), path);
            }
        }
    }
    let mut all = Vec::new();
    for path in files.values() {
        all.extend(
            documents(&crate::files::text(path)?)
                .with_context(|| format!("{} can't be read", path.display()))?,
        );
    }
    Ok(all)
}

/// Applies what the cluster stands on, what was given and what was made, until all is there. What the API won't take is
/// told and left out in the end: a manifest of a user's must not stop everything.
pub async fn apply(applier: &mut Applier, given: Vec<Value>, made: Vec<Value>) -> Result<()> {
    all(applier, definitions()?, Fields::Known, "kinds").await;
    all(applier, foundation::objects().collect(), Fields::Known, "foundation").await;
    all(applier, made, Fields::Known, "made").await;
    // A user's manifest may have fields that the lab's kinds don't.
    all(applier, given, Fields::Any, "manifests").await;
    Ok(())
}

async fn all(applier: &mut Applier, mut left: Vec<Value>, fields: Fields, what: &str) {
    // Namespaces before what stands in them.
    left.sort_by_key(|object| object["kind"] != "Namespace");
    let count = left.len();
    for _ in 0..ATTEMPTS {
        let mut failed = Vec::new();
        for object in left {
            if let Err(error) = applier.apply(object.clone(), fields).await {
                warn!(object = %name(&object), error = format!("{error:#}"), "not applied yet");
                failed.push(object);
            }
        }
        left = failed;
        if left.is_empty() {
            break;
        }
        sleep(POLL_INTERVAL).await;
    }
    info!(what, count, "applied");
    for object in &left {
        warn!(object = %name(object), "left out");
    }
}

fn name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_folders_make_one() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("manifests/b.yml", "kind: B\n---\n---\nkind: C\n"),
            ("manifests/a.yaml", "kind: A\n"),
            ("manifests/note.txt", ": ["),
            ("openshift/a.yaml", "kind: Other\n"),
        ] {
            crate::files::write(dir.path().join(path), 0o644, text).unwrap();
        }
        let kinds: Vec<_> =
            read(dir.path()).unwrap().into_iter().map(|object| object["kind"].clone()).collect();
        assert_eq!(kinds, ["Other", "B", "C"]);
        crate::files::write(dir.path().join("manifests/bad.yaml"), 0o644, "[").unwrap();
        assert!(format!("{:#}", read(dir.path()).unwrap_err()).contains("bad.yaml"));
    }
}
