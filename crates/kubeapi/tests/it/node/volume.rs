//! What is mounted into a container.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{KeyToPath, Pod, PodSpec, ServiceAccount, Volume};
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::Kubelet;

/// Where a pod finds its account.
pub(super) const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Mode of the files of a volume that says none.
const MODE: i32 = 0o644;

impl Kubelet {
    /// Makes the folder of a volume for a pod; `Err`: what has to be there first.
    pub(super) async fn volume(
        &self,
        spec: &PodSpec,
        volume: &Volume,
        dir: &Path,
    ) -> Result<PathBuf, String> {
        let group = spec.security_context.as_ref().and_then(|context| context.fs_group);
        if volume.empty_dir.is_some() {
            return Ok(folder(&dir.join(&volume.name), group));
        }
        if let Some(claim) = &volume.persistent_volume_claim {
            return Ok(folder(&self.claims.path().join(&claim.claim_name), group));
        }
        let (files, items, mode) = if let Some(source) = &volume.secret {
            let data = self.secret(source.secret_name.as_deref().unwrap()).await?.data.unwrap_or_default();
            let files = data.into_iter().map(|(name, value)| (name, value.0)).collect();
            (files, &source.items, source.default_mode)
        } else if let Some(source) = &volume.config_map {
            let data = self.config_map(&source.name).await?.data.unwrap_or_default();
            let files = data.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
            (files, &source.items, source.default_mode)
        } else {
            panic!("the volume {} is of a kind that is not known here", volume.name)
        };
        let files = picked(files, items.as_deref())?;
        Ok(written(&dir.join(&volume.name), &files, mode.unwrap_or(MODE), group))
    }

    /// Makes the folder of a pod's account; `None`: it has none there.
    pub(super) async fn account(&self, pod: &Pod, dir: &Path) -> Result<Option<PathBuf>, String> {
        let spec = pod.spec.as_ref().unwrap();
        let name = spec.service_account_name.as_deref().unwrap_or("default");
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let found = api.get_opt(name).await.unwrap();
        let account = found.ok_or_else(|| format!("serviceaccount {name} not found"))?;
        let is_wanted = spec.automount_service_account_token.or(account.automount_service_account_token);
        if is_wanted == Some(false) {
            return Ok(None);
        }
        let request: TokenRequest = serde_json::from_value(json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": [], "expirationSeconds": 3607,
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod.name_any(), "uid": pod.uid()},
        }}))
        .unwrap();
        let made = api.create_token_request(name, &PostParams::default(), &request).await.unwrap();
        let files = [
            ("token", made.status.unwrap().token),
            ("ca.crt", self.ca.clone()),
            ("namespace", self.namespace.clone()),
        ];
        let files: BTreeMap<_, _> = files.map(|(name, text)| (name.to_owned(), text.into_bytes())).into();
        let group = spec.security_context.as_ref().and_then(|context| context.fs_group);
        Ok(Some(written(&dir.join("account"), &files, MODE, group)))
    }
}

/// The files that are named, under the names that they are to have; all where none is named.
fn picked(
    mut files: BTreeMap<String, Vec<u8>>,
    items: Option<&[KeyToPath]>,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let Some(items) = items else { return Ok(files) };
    let of = |item: &KeyToPath| {
        let found = files.remove(&item.key);
        let found = found.ok_or_else(|| format!("references non-existent key: {}", item.key))?;
        Ok::<_, String>((item.path.clone(), found))
    };
    items.iter().map(of).collect()
}

/// A folder that everybody may write to, and that stays as it is.
fn folder(path: &Path, group: Option<i64>) -> PathBuf {
    if !path.exists() {
        fs::create_dir(path).unwrap();
        let mode = if group.is_some() { 0o2777 } else { 0o777 };
        own(path, group, mode);
    }
    path.to_owned()
}

/// A folder with files, each a link to where it really is, as kubelets have them to change all at once.
fn written(path: &Path, files: &BTreeMap<String, Vec<u8>>, mode: i32, group: Option<i64>) -> PathBuf {
    if path.exists() {
        fs::remove_dir_all(path).unwrap();
    }
    let now = path.join("..now");
    fs::create_dir_all(&now).unwrap();
    symlink("..now", path.join("..data")).unwrap();
    // Its group may read what is a group's.
    let mode = u32::try_from(mode).unwrap() | if group.is_some() { 0o440 } else { 0 };
    for (name, content) in files {
        let file = now.join(name);
        fs::write(&file, content).unwrap();
        own(&file, group, mode);
        symlink(Path::new("..data").join(name), path.join(name)).unwrap();
    }
    for path in [path, &now] {
        own(path, group, 0o755);
    }
    path.to_owned()
}

fn own(path: &Path, group: Option<i64>, mode: u32) {
    chown(path, Some(0), group.map(|group| u32::try_from(group).unwrap())).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
