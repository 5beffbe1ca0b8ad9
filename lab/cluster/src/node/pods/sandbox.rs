//! What a container sees: its variables, its files, its credentials.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, KeyToPath, Pod, ProjectedVolumeSource, Secret, ServiceAccount, Volume,
};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;
use tracing::warn;

use crate::cluster::API_PORT;
use crate::files;
use crate::node::Node;

const PODS: &str = "/var/lib/kubelet/pods";
/// Between two tokens of a pod; each holds for an hour.
const TOKEN_LIFE: Duration = Duration::from_secs(40 * 60);

type Data = BTreeMap<String, Vec<u8>>;

pub struct Sandbox {
    pub env: Vec<(String, String)>,
    /// Path on this machine, path for the container.
    pub mounts: Vec<(PathBuf, PathBuf)>,
    tokens: Vec<PathBuf>,
}

struct Maker<'a> {
    kube: &'a Client,
    pod: &'a Pod,
    folder: PathBuf,
    tokens: Vec<PathBuf>,
}

impl Sandbox {
    pub async fn make(node: &Node, kube: &Client, pod: &Pod, container: &Container) -> Result<Self> {
        let folder = Path::new(PODS).join(pod.uid().context("it has no id")?).join("volumes");
        let mut maker = Maker { kube, pod, folder, tokens: Vec::new() };
        let mut env = vec![
            ("KUBERNETES_SERVICE_HOST".to_owned(), node.cluster.service_host()),
            ("KUBERNETES_SERVICE_PORT".to_owned(), API_PORT.to_string()),
        ];
        env.extend(maker.env(container).await?);
        let mut volumes = BTreeMap::new();
        for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            volumes.insert(volume.name.as_str(), maker.volume(volume).await?);
        }
        let mut mounts = Vec::new();
        for mount in container.volume_mounts.iter().flatten() {
            let here = volumes
                .get(mount.name.as_str())
                .with_context(|| format!("it has no volume {}", mount.name))?;
            mounts.push((here.clone(), PathBuf::from(&mount.mount_path)));
        }
        // What the host doesn't have can't be seen.
        mounts.retain(|(here, _)| here.exists());
        Ok(Self { env, mounts, tokens: maker.tokens })
    }

    /// Renews the credentials for as long as the container runs.
    pub async fn keep_fresh(&self, kube: &Client, pod: &Pod) {
        if self.tokens.is_empty() {
            return std::future::pending().await;
        }
        loop {
            sleep(TOKEN_LIFE).await;
            for path in &self.tokens {
                let renewed = async { files::write(path, 0o600, token(kube, pod).await?) };
                if let Err(error) = renewed.await {
                    warn!(pod = pod.name_any(), error = format!("{error:#}"), "its token is not renewed");
                }
            }
        }
    }
}

async fn token(kube: &Client, pod: &Pod) -> Result<String> {
    let spec = pod.spec.as_ref().context("it has no spec")?;
    let account = spec.service_account_name.as_deref().unwrap_or("default");
    let accounts = Api::<ServiceAccount>::namespaced(kube.clone(), &pod.namespace().unwrap_or_default());
    let bound = k8s_openapi::api::authentication::v1::BoundObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(pod.name_any()),
        uid: pod.uid(),
    };
    let spec = TokenRequestSpec {
        audiences: Vec::new(),
        bound_object_ref: Some(bound),
        expiration_seconds: Some(3_607),
    };
    let wish = TokenRequest { spec, ..TokenRequest::default() };
    let made = accounts.create_token_request(account, &PostParams::default(), &wish).await?;
    Ok(made.status.context("a token was not made")?.token)
}

impl Maker<'_> {
    fn namespace(&self) -> String {
        self.pod.namespace().unwrap_or_default()
    }

    async fn config_map(&self, name: &str, optional: bool) -> Result<Data> {
        let maps = Api::<ConfigMap>::namespaced(self.kube.clone(), &self.namespace());
        match maps.get(name).await {
            Err(error) if optional && crate::kube_api::is_absent(&error) => Ok(Data::new()),
            found => {
                let found = found.with_context(|| format!("ConfigMap {name}"))?;
                let text =
                    found.data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes()));
                let bytes = found
                    .binary_data
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, ByteString(bytes))| (key, bytes));
                Ok(text.chain(bytes).collect())
            }
        }
    }

    async fn secret(&self, name: &str, optional: bool) -> Result<Data> {
        let secrets = Api::<Secret>::namespaced(self.kube.clone(), &self.namespace());
        match secrets.get(name).await {
            Err(error) if optional && crate::kube_api::is_absent(&error) => Ok(Data::new()),
            found => {
                let found = found.with_context(|| format!("Secret {name}"))?;
                Ok(found
                    .data
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, ByteString(bytes))| (key, bytes))
                    .collect())
            }
        }
    }

    async fn env(&self, container: &Container) -> Result<Vec<(String, String)>> {
        let mut env = Vec::new();
        for variable in container.env.iter().flatten() {
            let Some(from) = &variable.value_from else {
                env.push((variable.name.clone(), variable.value.clone().unwrap_or_default()));
                continue;
            };
            let (mut data, key, optional) = if let Some(map) = &from.config_map_key_ref {
                let optional = map.optional == Some(true);
                (self.config_map(&map.name, optional).await?, &map.key, optional)
            } else if let Some(secret) = &from.secret_key_ref {
                let optional = secret.optional == Some(true);
                (self.secret(&secret.name, optional).await?, &secret.key, optional)
            } else {
                bail!("variable {} comes from what the lab doesn't know", variable.name);
            };
            match data.remove(key) {
                Some(value) => env.push((variable.name.clone(), String::from_utf8(value)?)),
                None if optional => {}
                None => bail!("variable {}: there is no key {key}", variable.name),
            }
        }
        Ok(env)
    }

    /// Where the contents of a volume are on this machine.
    async fn volume(&mut self, volume: &Volume) -> Result<PathBuf> {
        if let Some(path) = &volume.host_path {
            return Ok(PathBuf::from(&path.path));
        }
        let folder = self.folder.join(&volume.name);
        std::fs::create_dir_all(&folder)?;
        if let Some(secret) = &volume.secret {
            let name = secret.secret_name.as_deref().context("a volume names no secret")?;
            let data = self.secret(name, secret.optional == Some(true)).await?;
            write_volume(&folder, data, secret.items.as_deref(), secret.default_mode)?;
        } else if let Some(map) = &volume.config_map {
            let data = self.config_map(&map.name, map.optional == Some(true)).await?;
            write_volume(&folder, data, map.items.as_deref(), map.default_mode)?;
        } else if let Some(projected) = &volume.projected {
            self.project(&folder, projected).await?;
        } else if volume.empty_dir.is_none() {
            bail!("volume {} is of a kind that the lab doesn't know", volume.name);
        }
        Ok(folder)
    }

    async fn project(&mut self, folder: &Path, projected: &ProjectedVolumeSource) -> Result<()> {
        for source in projected.sources.iter().flatten() {
            if let Some(account) = &source.service_account_token {
                let path = within(folder, &account.path)?;
                files::write(&path, 0o600, token(self.kube, self.pod).await?)?;
                self.tokens.push(path);
            } else if let Some(map) = &source.config_map {
                let data = self.config_map(&map.name, map.optional == Some(true)).await?;
                write_volume(folder, data, map.items.as_deref(), None)?;
            } else if let Some(secret) = &source.secret {
                let data = self.secret(&secret.name, secret.optional == Some(true)).await?;
                write_volume(folder, data, secret.items.as_deref(), None)?;
            } else if let Some(own) = &source.downward_api {
                for item in own.items.iter().flatten() {
                    let field = item.field_ref.as_ref().map(|field| field.field_path.as_str());
                    let text = match field {
                        Some("metadata.namespace") => self.namespace(),
                        Some("metadata.name") => self.pod.name_any(),
                        _ => bail!("a pod's {field:?} is not told"),
                    };
                    files::write(within(folder, &item.path)?, 0o644, text)?;
                }
            }
        }
        Ok(())
    }
}

/// Writes what a secret or a map holds: all of it, or the keys that are named.
fn write_volume(folder: &Path, mut data: Data, items: Option<&[KeyToPath]>, mode: Option<i32>) -> Result<()> {
    let mode_of = |mode: Option<i32>| mode.and_then(|mode| u32::try_from(mode).ok()).unwrap_or(0o644) & 0o777;
    match items {
        None => {
            for (key, value) in data {
                files::write(within(folder, &key)?, mode_of(mode), value)?;
            }
        }
        Some(items) => {
            for item in items {
                let value =
                    data.remove(&item.key).with_context(|| format!("there is no key {}", item.key))?;
                files::write(within(folder, &item.path)?, mode_of(item.mode.or(mode)), value)?;
            }
        }
    }
    Ok(())
}

/// A path below a folder, and nowhere else.
fn within(folder: &Path, path: &str) -> Result<PathBuf> {
    use std::path::Component;
    if path.is_empty() || !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        bail!("{path:?} leads out of its volume");
    }
    Ok(folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_hold_what_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let data = || Data::from([("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())]);
        let item =
            |key: &str, path: &str| KeyToPath { key: key.into(), path: path.into(), mode: Some(0o400) };
        write_volume(dir.path(), data(), Some(&[item("b", "token")]), None).unwrap();
        assert_eq!(files::text(dir.path().join("token")).unwrap(), "2");
        assert!(!dir.path().join("a").exists());
        assert!(write_volume(dir.path(), data(), Some(&[item("c", "x")]), None).is_err());
        assert!(write_volume(dir.path(), data(), Some(&[item("a", "../x")]), None).is_err());
        write_volume(dir.path(), data(), None, None).unwrap();
        assert!(dir.path().join("a").exists());
    }
}
