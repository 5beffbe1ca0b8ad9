//! Finalizers of objects that go.

use assisted_kube::error::is_missing;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

/// Takes finalizers away, if they are there.
pub(super) async fn remove<K>(api: &Api<K>, object: &K, names: &[&str]) -> Result<(), kube::Error>
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let have = object.finalizers();
    let keep: Vec<_> = have.iter().filter(|name| !names.contains(&name.as_str())).collect();
    if keep.len() == have.len() {
        return Ok(());
    }
    let patch = json!({"metadata": {"finalizers": keep, "resourceVersion": object.resource_version()}});
    match api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await {
        Err(error) if !is_missing(&error) => Err(error),
        _ => Ok(()),
    }
}
