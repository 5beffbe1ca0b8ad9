//! The objects that others refer to, and where they are looked up.

mod document;
mod manifests;

use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_wire::secret::Secret;
use k8s_openapi::api::core::v1 as core;

pub use document::{Document, Malformed};
pub use manifests::{Ambiguous, Manifests};

use crate::SyncError;

/// Where the objects are found that others refer to.
pub trait Objects {
    /// A Secret.
    fn secret(&self, namespace: &str, name: &str) -> Option<&core::Secret>;
    /// A ConfigMap.
    fn config_map(&self, namespace: &str, name: &str) -> Option<&core::ConfigMap>;
    /// A ClusterImageSet.
    fn image_set(&self, name: &str) -> Option<&ClusterImageSet>;
    /// The NMStateConfigs of a namespace, by name.
    fn nmstate_configs(&self, namespace: &str) -> Vec<&NMStateConfig>;
}

/// A value of a Secret, as text: `data` or, in an object that no API server has taken yet, `stringData`, which counts.
pub(crate) fn secret_value(secret: &core::Secret, key: &str) -> Option<String> {
    let plain = secret.string_data.as_ref().and_then(|data| data.get(key)).cloned();
    plain.or_else(|| {
        let bytes = &secret.data.as_ref()?.get(key)?.0;
        String::from_utf8(bytes.clone()).ok()
    })
}

/// The registry credentials that a Secret holds (kube-api §3.4).
///
/// # Errors
/// `Input` when nothing is referred to, `Backend` when the Secret or its value is not there.
pub(crate) fn pull_secret(objects: &dyn Objects, namespace: &str, name: &str) -> Result<Secret, SyncError> {
    if name.is_empty() {
        return Err(SyncError::input("Missing reference to pull secret"));
    }
    let found = objects.secret(namespace, name);
    let secret = found.ok_or_else(|| {
        SyncError::backend(format!(
            "failed to find secret {name}: there is none in the namespace {namespace:?}"
        ))
    })?;
    let value = secret_value(secret, ".dockerconfigjson").filter(|value| !value.is_empty());
    let missing = || SyncError::backend(format!("secret {name} did not contain key .dockerconfigjson"));
    Ok(value.ok_or_else(missing)?.into())
}

/// As it travels in a field that holds bytes.
pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
