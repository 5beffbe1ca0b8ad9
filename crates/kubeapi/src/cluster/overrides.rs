//! What annotations of an AgentClusterInstall set (kube-api §6.1.9).

use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::labels::annotation;
use assisted_wire::cluster::Cluster;

use crate::sync_error::SyncError;
use crate::text::same_json;

/// What the annotations set, in the form in which a cluster keeps it; empty where an annotation is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Laid over install-config, JSON.
    pub install_config: String,
    /// Ids of validations of hosts that don't hold up the installation, a JSON list.
    pub ignored_host_validations: String,
    /// Ids of validations of the cluster that don't hold up the installation, a JSON list.
    pub ignored_cluster_validations: String,
}

impl Overrides {
    /// Whether the objects set other overrides of install-config than the cluster has.
    pub fn changes_install_config(&self, cluster: &Cluster) -> bool {
        !self.install_config.is_empty() && !same_json(&self.install_config, &cluster.install_config_overrides)
    }
}

/// Reads the annotations.
///
/// # Errors
/// `Input` when a list of ids has an empty element.
pub fn overrides(install: &AgentClusterInstall) -> Result<Overrides, SyncError> {
    let value = |key: &str| install.metadata.annotations.as_ref()?.get(key).map(String::as_str);
    Ok(Overrides {
        install_config: value(annotation::INSTALL_CONFIG_OVERRIDES).unwrap_or_default().to_owned(),
        ignored_host_validations: ids(
            annotation::IGNORED_HOST_VALIDATIONS,
            value(annotation::IGNORED_HOST_VALIDATIONS),
        )?,
        ignored_cluster_validations: ids(
            annotation::IGNORED_CLUSTER_VALIDATIONS,
            value(annotation::IGNORED_CLUSTER_VALIDATIONS),
        )?,
    })
}

fn ids(key: &str, list: Option<&str>) -> Result<String, SyncError> {
    let Some(list) = list else { return Ok(String::new()) };
    let mut ids: Vec<&str> = Vec::new();
    if !list.trim().is_empty() {
        for id in list.split(',').map(str::trim) {
            if id.is_empty() {
                return Err(SyncError::input(format!(
                    "Failed to parse '{key}' annotation: annotation \"{key}\": failed to parse comma-separated \
                     validation IDs: empty ignored validation ID found in '{list}'"
                )));
            }
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    Ok(serde_json::Value::from(ids).to_string())
}
