//! MachineDeployment: what of it is read.

use serde::{Deserialize, Serialize};

use super::common::TemplateMetadata;
use crate::resource::resource;

resource! {
    /// Machines that are alike. Only the fields that are read here.
    MachineDeployment, "cluster.x-k8s.io", "v1beta2", "machinedeployments", Namespaced {
        spec: MachineDeploymentSpec,
    }
}

/// The machines as they are wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineDeploymentSpec {
    /// Name of the Cluster.
    pub cluster_name: String,
    /// How many; none: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// What each Machine is made from.
    pub template: MachineTemplate,
}

/// What each Machine is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
}
