//! Registries that stand in for others, as a ConfigMap names them (kube-api §3.8).

use assisted_core::model::cluster::MirrorRegistry;
use assisted_crd::common::NamespacedReference;

use crate::SyncError;
use crate::objects::Objects;

const REGISTRIES: &str = "registries.conf";
const AUTHORITIES: &str = "ca-bundle.crt";

/// What the ConfigMap says; `None` when none is referred to, or it names no registries.
///
/// # Errors
/// `Input` when it is not there or says nothing of registries.
pub fn mirrors(
    reference: Option<&NamespacedReference>,
    objects: &dyn Objects,
) -> Result<Option<MirrorRegistry>, SyncError> {
    let Some(NamespacedReference { name, namespace }) = reference else { return Ok(None) };
    let found = objects.config_map(namespace, name).ok_or_else(|| {
        SyncError::input(format!(
            "Failed to get referenced ConfigMap: there is no ConfigMap {name} in the namespace {namespace}"
        ))
    })?;
    let value = |key: &str| found.data.as_ref().and_then(|data| data.get(key)).cloned();
    let registries_conf = value(REGISTRIES).ok_or_else(|| {
        SyncError::input(format!("ConfigMap {namespace}/{name} does not contain {REGISTRIES} key"))
    })?;
    if registries_conf.trim().is_empty() {
        return Ok(None);
    }
    assisted_release::Mirrors::from_registries_conf(&registries_conf)
        .map_err(|error| SyncError::input(format!("ConfigMap {namespace}/{name}, {REGISTRIES}: {error}")))?;
    Ok(Some(MirrorRegistry { registries_conf, authorities: value(AUTHORITIES).unwrap_or_default() }))
}
