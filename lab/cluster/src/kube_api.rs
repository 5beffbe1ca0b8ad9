//! Clients of the cluster's API, and objects of any kind applied to it.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, Config};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files;

/// Who the objects' fields belong to.
pub const MANAGER: &str = "lab-cluster";
/// Machines of a lab are slow, and busy with each other.
const TIMEOUT: Duration = Duration::from_secs(60);

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
    config.connect_timeout = Some(TIMEOUT);
    config.read_timeout = Some(TIMEOUT * 5);
    config.reset_reader_on_write = true;
    config.write_timeout = Some(TIMEOUT);
    // The cluster's own hosts are never behind a proxy.
    config.proxy_url = None;
    Ok(Client::try_from(config)?)
}

/// Which fields an object may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fields {
    /// Those of its kind.
    Known,
    /// Others as well, which are left out.
    Any,
}

/// A kind as the API has it.
#[derive(Clone)]
struct Known {
    resource: ApiResource,
    scope: Scope,
    /// Whether its status has a place of its own.
    has_status: bool,
}

/// Applies objects; kinds are looked up once.
pub struct Applier {
    client: Client,
    known: HashMap<GroupVersionKind, Known>,
}

impl Applier {
    pub fn new(client: Client) -> Self {
        Self { client, known: HashMap::new() }
    }

    /// Makes an object so; its status too, where that has a place of its own.
    pub async fn apply(&mut self, mut object: Value, fields: Fields) -> Result<()> {
        let (kind, objects) = self.objects(&object).await?;
        let status = object.as_object_mut().filter(|_| kind.has_status).and_then(|all| all.remove("status"));
        let params = checked(PatchParams::apply(MANAGER).force(), fields);
        objects.patch(&name(&object), &params, &Patch::Apply(&object)).await?;
        match status {
            Some(status) => write_status(&objects, &object, status, fields).await,
            None => Ok(()),
        }
    }

    /// Writes the status of an object that is there.
    pub async fn apply_status(&mut self, object: &Value) -> Result<()> {
        let (_, objects) = self.objects(object).await?;
        write_status(&objects, object, object["status"].clone(), Fields::Known).await
    }

    /// The kind of an object, and the objects of that kind beside it.
    async fn objects(&mut self, object: &Value) -> Result<(Known, Api<DynamicObject>)> {
        let types: TypeMeta = serde_json::from_value(object.clone()).context("it has no kind")?;
        let kind = GroupVersionKind::try_from(types)?;
        let known = match self.known.get(&kind) {
            Some(known) => known.clone(),
            None => {
                let (resource, capabilities) = pinned_kind(&self.client, &kind).await?;
                let has_status = capabilities.subresources.iter().any(|(one, _)| one.plural == "status");
                let known = Known { resource, scope: capabilities.scope, has_status };
                self.known.insert(kind, known.clone());
                known
            }
        };
        let (client, resource) = (self.client.clone(), &known.resource);
        let objects = match known.scope {
            Scope::Cluster => Api::all_with(client, resource),
            Scope::Namespaced => {
                let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
                Api::namespaced_with(client, namespace, resource)
            }
        };
        Ok((known, objects))
    }
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The API refuses fields that it does not know, where only known ones may be there.
fn checked(params: PatchParams, fields: Fields) -> PatchParams {
    if fields == Fields::Known { params.validation_strict() } else { params }
}

/// Writes a status as a whole, with the fields that are null: a merge patch would drop those in lists, and some have to be there.
async fn write_status(
    objects: &Api<DynamicObject>,
    object: &Value,
    status: Value,
    fields: Fields,
) -> Result<()> {
    let name = name(object);
    let status = json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": {"name": name}, "status": status,
    });
    let params = checked(PatchParams::apply(MANAGER).force(), fields);
    objects.patch_status(&name, &params, &Patch::Apply(&status)).await?;
    Ok(())
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
