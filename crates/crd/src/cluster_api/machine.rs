//! Machine: what of it is read and written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::common::{ContractReference, MachineDeletion};
use crate::condition::find;
use crate::resource::resource;

resource! {
    /// A machine of a cluster. Only the fields that are read and written here.
    Machine, "cluster.x-k8s.io", "v1beta2", "machines", Namespaced {
        spec: MachineSpec,
        status: MachineStatus,
    }
}

/// The machine as it is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    /// What the machine is told when it boots.
    pub bootstrap: Bootstrap,
    /// Name of the Cluster.
    pub cluster_name: String,
    /// How long each step of the machine's deletion may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<MachineDeletion>,
    /// Where the machine is placed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_domain: String,
    /// The machine in its infrastructure.
    pub infrastructure_ref: ContractReference,
    /// Id that the infrastructure gave the machine.
    #[serde(rename = "providerID", skip_serializing_if = "String::is_empty")]
    pub provider_id: String,
}

/// What a machine is told when it boots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Bootstrap {
    /// The object that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<ContractReference>,
    /// Secret with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// The machine as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Node that the machine is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<NodeReference>,
}

/// A node of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReference {
    pub name: String,
}

impl Machine {
    /// What a condition of the machine says: `True`, `False`, `Unknown`; none: nothing yet.
    pub fn condition(&self, r#type: &str) -> Option<&str> {
        find(&self.status.as_ref()?.conditions, r#type).map(|condition| condition.status.as_str())
    }
}
