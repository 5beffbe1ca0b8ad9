//! Clients of the cluster's API, and objects of any kind applied to it.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, Config, ResourceExt};
use serde::Deserialize;
use serde_json::Value;

use crate::files;

/// Who the objects' fields belong to.
pub const MANAGER: &str = "lab-cluster";
/// Machines of a lab are slow, and busy with each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// The API that a kubeconfig names, or the same at another address.
pub async fn client(kubeconfig: impl AsRef<Path>, server: Option<&str>) -> Result<Client> {
    let mut kubeconfig = Kubeconfig::from_yaml(&files::text(kubeconfig)?)?;
    if let Some(server) = server {
        for cluster in &mut kubeconfig.clusters {
            if let Some(cluster) = &mut cluster.cluster {
                cluster.server = Some(server.to_owned());
            }
        }
    }
    of(kubeconfig).await
}

pub async fn of(kubeconfig: Kubeconfig) -> Result<Client> {
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE * 5);
    config.reset_reader_on_write = true;
    config.write_timeout = Some(PATIENCE);
    // The cluster's own hosts are never behind a proxy.
    config.proxy_url = None;
    Ok(Client::try_from(config)?)
}

/// Applies objects; kinds are looked up once.
pub struct Applier {
    client: Client,
    known: HashMap<GroupVersionKind, (ApiResource, Scope)>,
}

impl Applier {
    pub fn new(client: Client) -> Self {
        Self { client, known: HashMap::new() }
    }

    pub async fn apply(&mut self, object: Value) -> Result<()> {
        let object: DynamicObject = serde_json::from_value(object).context("it is no object")?;
        let types = object.types.as_ref().context("it has no kind")?;
        let kind = GroupVersionKind::try_from(types)?;
        let (resource, scope) = match self.known.get(&kind) {
            Some(known) => known.clone(),
            None => {
                let (resource, capabilities) = pinned_kind(&self.client, &kind).await?;
                self.known.insert(kind, (resource.clone(), capabilities.scope.clone()));
                (resource, capabilities.scope)
            }
        };
        let objects: Api<DynamicObject> = match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
                Api::namespaced_with(self.client.clone(), &namespace, &resource)
            }
        };
        let params = PatchParams::apply(MANAGER).force();
        objects.patch(&object.name_any(), &params, &Patch::Apply(&object)).await?;
        Ok(())
    }
}

/// The objects of a YAML text.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        match Value::deserialize(document)? {
            Value::Null => {}
            object @ Value::Object(_) => all.push(object),
            _ => bail!("it is no object"),
        }
    }
    Ok(all)
}

/// Whether an error says that something isn't there.
pub fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
