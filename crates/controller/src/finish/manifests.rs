//! Manifests that configure operators once their kinds of objects are known, applied as an administrator would: the
//! controller's own account may not.

use std::collections::BTreeSet;

use assisted_base::error::chain;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::{Api, Client, ResourceExt};
use serde::Deserialize;
use tracing::{info, warn};

use super::olm;
use crate::cluster::of_kubeconfig;
use crate::error::ReconcileError;
use crate::run::Context;

/// Who the objects' fields belong to.
const MANAGER: &str = "assisted-installer-controller";
const FILE: &str = "custom_manifests.json";

/// The manifests of one operator.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "Name")]
    name: String,
    /// YAML, in base64.
    #[serde(rename = "Content")]
    content: String,
}

/// Applies the manifests of all operators that can take them; true when that were all.
pub(super) async fn apply_initialised(context: &Context) -> Result<bool, ReconcileError> {
    let bytes = context.service.file(FILE).await?;
    let entries: Vec<Entry> = serde_json::from_slice(&bytes).map_err(ReconcileError::malformed(FILE))?;
    let (ready, waiting) = olm::initialised(context).await?;
    let ready: BTreeSet<_> = ready.iter().map(|operator| operator.name.as_str()).collect();
    let mut applied = waiting.is_empty();
    for entry in entries.iter().filter(|entry| ready.contains(entry.name.as_str())) {
        let outcome = async {
            let yaml = STANDARD.decode(&entry.content).map_err(ReconcileError::malformed("its base64"))?;
            apply(&administrator(context).await?, &yaml).await
        };
        match outcome.await {
            Ok(()) => info!(operator = entry.name, "its manifests are applied"),
            Err(error) => {
                warn!(operator = entry.name, error = chain(&error), "its manifests can't be applied yet");
                applied = false;
            }
        }
    }
    Ok(applied)
}

/// The cluster's API, asked as its administrator.
pub(crate) async fn administrator(context: &Context) -> Result<Client, ReconcileError> {
    let file = context.service.kubeconfig().await?;
    Ok(of_kubeconfig(file.path()).await?)
}

/// Applies all documents of a YAML text, as far as they can be applied.
pub(crate) async fn apply(kube: &Client, yaml: &[u8]) -> Result<(), ReconcileError> {
    let mut failed = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_slice(yaml) {
        let value =
            serde_yaml_ng::Value::deserialize(document).map_err(ReconcileError::malformed("a manifest"))?;
        if value.is_null() {
            continue;
        }
        let object: DynamicObject =
            serde_yaml_ng::from_value(value).map_err(ReconcileError::malformed("a manifest"))?;
        let name = object.name_any();
        if let Err(error) = apply_one(kube, object).await {
            failed.push((name, error));
        }
    }
    ReconcileError::of_several(failed)
}

async fn apply_one(kube: &Client, object: DynamicObject) -> Result<(), ReconcileError> {
    let types = object.types.clone().unwrap_or_default();
    let kind = GroupVersionKind::try_from(&types).map_err(ReconcileError::malformed("its kind"))?;
    let (resource, capabilities) = pinned_kind(kube, &kind).await?;
    let objects: Api<DynamicObject> = match capabilities.scope {
        Scope::Cluster => Api::all_with(kube.clone(), &resource),
        Scope::Namespaced => {
            let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
            Api::namespaced_with(kube.clone(), &namespace, &resource)
        }
    };
    let params = PatchParams::apply(MANAGER).force();
    objects.patch(&object.name_any(), &params, &Patch::Apply(&object)).await?;
    Ok(())
}
