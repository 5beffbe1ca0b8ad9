//! Metal3MachineTemplate: what of it is read and written.

use serde::{Deserialize, Serialize};

use super::metal3_machine::Metal3MachineSpec;
use crate::resource::resource;

resource! {
    /// What Metal3Machines are made from. Only the fields that are read and written here.
    Metal3MachineTemplate, "infrastructure.cluster.x-k8s.io", "v1beta1", "metal3machinetemplates", Namespaced {
        spec: Metal3MachineTemplateSpec,
    }
}

/// What is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metal3MachineTemplateSpec {
    pub template: Metal3MachineTemplateResource,
}

/// What each Metal3Machine is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metal3MachineTemplateResource {
    pub spec: Metal3MachineSpec,
}
