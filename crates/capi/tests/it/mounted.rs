//! A Secret of the management cluster that is mounted as a kubelet mounts it: its members are links into `..data`, itself a link to a folder
//! with all of them, which is exchanged as a whole. As with `optional`, the Secret may be missing.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;

const POLL_INTERVAL: Duration = Duration::from_millis(200);
const DATA: &str = "..data";

/// The folder; it is kept up to date as long as this is there.
pub struct Mounted {
    dir: TempDir,
    secrets: Api<Secret>,
    name: &'static str,
    keeping: JoinHandle<()>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

impl Mounted {
    pub fn new(client: Client, namespace: &str, name: &'static str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let secrets: Api<Secret> = Api::namespaced(client, namespace);
        let (watched, folder) = (secrets.clone(), dir.path().to_owned());
        let keeping = tokio::spawn(async move {
            let mut shown = None;
            loop {
                if let Some(secret) = watched.get_opt(name).await.unwrap()
                    && secret.resource_version() != shown
                {
                    let version = secret.resource_version().unwrap();
                    let data = secret.data.unwrap_or_default();
                    project(
                        &folder,
                        &version,
                        &data.into_iter().map(|(key, value)| (key, value.0)).collect(),
                    );
                    shown = Some(version);
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        });
        Self { dir, secrets, name, keeping }
    }

    /// Where a member is, if the Secret has it.
    pub fn member(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a member, as somebody does with `kubectl`.
    pub async fn set(&self, member: &str, text: &str) {
        let change = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": self.name}, "stringData": {member: text},
        });
        // Each member has a writer of its own, so that none takes away what the other has written.
        let writer = PatchParams::apply(member).force();
        self.secrets.patch(self.name, &writer, &Patch::Apply(change)).await.unwrap();
    }
}

/// Shows a version of the Secret in place of the one before.
fn project(folder: &Path, version: &str, members: &BTreeMap<String, Vec<u8>>) {
    let before = std::fs::read_link(folder.join(DATA)).ok();
    let own = format!("..{version}");
    std::fs::create_dir(folder.join(&own)).unwrap();
    for (name, content) in members {
        std::fs::write(folder.join(&own).join(name), content).unwrap();
    }
    let new = folder.join("..data_tmp");
    symlink(&own, &new).unwrap();
    std::fs::rename(new, folder.join(DATA)).unwrap();
    for name in members.keys().filter(|name| !folder.join(name).is_symlink()) {
        symlink(Path::new(DATA).join(name), folder.join(name)).unwrap();
    }
    if let Some(before) = before {
        std::fs::remove_dir_all(folder.join(before)).unwrap();
    }
}

#[test]
fn a_secret_is_exchanged_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name));
    let of = |token: &str| [("token".to_owned(), token.into()), ("ca.crt".to_owned(), b"ca".to_vec())].into();
    project(dir.path(), "1", &of("a"));
    assert_eq!((read("token").unwrap(), read("ca.crt").unwrap()), ("a".to_owned(), "ca".to_owned()));
    project(dir.path(), "2", &of("b"));
    assert_eq!(read("token").unwrap(), "b");
    assert!(!dir.path().join("..1").exists());
}
