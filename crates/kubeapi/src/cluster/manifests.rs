//! Custom manifests of a cluster: the values of the ConfigMaps that its AgentClusterInstall refers to.

use std::collections::BTreeMap;

use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;

use crate::objects::Objects;
use crate::sync_error::SyncError;

/// A manifest that is applied while the cluster comes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomManifest {
    pub file_name: String,
    pub content: String,
}

/// The manifests, by their names (kube-api §6.1.10). The newer list of references counts, where it is not empty.
///
/// # Errors
/// `Backend` when a ConfigMap is missing, `Input` when two of them have a manifest of one name.
pub fn custom_manifests(
    install: &AgentClusterInstall,
    objects: &dyn Objects,
) -> Result<Vec<CustomManifest>, SyncError> {
    let namespace = install.metadata.namespace.as_deref().unwrap_or_default();
    let mut names: Vec<&str> =
        install.spec.manifests_config_map_refs.iter().map(|reference| reference.name.as_str()).collect();
    if names.is_empty() {
        names.extend(install.spec.manifests_config_map_ref.iter().map(|reference| reference.name.as_str()));
    }
    let mut manifests = BTreeMap::new();
    for name in names {
        let found = objects.config_map(namespace, name);
        let config_map = found.ok_or_else(|| {
            SyncError::backend(format!("ConfigMap {namespace}/{name}, which holds manifests, is not there"))
        })?;
        for (file_name, content) in config_map.data.iter().flatten() {
            if manifests.insert(file_name.clone(), content.clone()).is_some() {
                return Err(SyncError::input(format!(
                    "Conflict in manifest names ('{file_name}' is not unique)"
                )));
            }
        }
    }
    let manifest = |(file_name, content)| CustomManifest { file_name, content };
    Ok(manifests.into_iter().map(manifest).collect())
}
