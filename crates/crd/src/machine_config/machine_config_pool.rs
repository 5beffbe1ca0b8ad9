//! MachineConfigPool: what of it is read and written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// A pool of nodes with one configuration. Only the fields that are read and written here.
    MachineConfigPool, "machineconfiguration.openshift.io", "v1", "machineconfigpools", Cluster {
        spec: MachineConfigPoolSpec,
        status: MachineConfigPoolStatus,
    }
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfigPoolSpec {
    /// Rendered MachineConfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// Which MachineConfigs it is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_config_selector: Option<LabelSelector>,
    /// Which nodes belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<LabelSelector>,
    /// Whether changes wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// A rendered MachineConfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PoolConfiguration {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// What is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfigPoolStatus {
    /// Rendered MachineConfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// How many failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded_machine_count: Option<i32>,
    /// How many nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_count: Option<i32>,
    /// Generation of the object that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many run the configuration and are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_machine_count: Option<i32>,
    /// How many run the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_machine_count: Option<i32>,
}
