//! The parts of Kubernetes' objects that matter here.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

/// A list, as the API gives it.
#[derive(Debug, Deserialize)]
pub(super) struct List<T> {
    #[serde(default = "Vec::new")]
    pub(super) items: Vec<T>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) annotations: BTreeMap<String, String>,
}

/// A node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    pub(super) metadata: Metadata,
    pub(super) spec: NodeSpec,
    pub(super) status: NodeStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeSpec {
    pub(super) taints: Vec<Taint>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeStatus {
    pub(super) conditions: Vec<Condition>,
    pub(super) addresses: Vec<Address>,
}

/// What keeps pods off a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Taint {
    pub key: String,
}

/// What is the case with an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Address {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) address: String,
}

impl Node {
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether it takes pods.
    pub fn is_ready(&self) -> bool {
        self.status.conditions.iter().any(|found| found.kind == "Ready" && found.status == "True")
    }

    /// Its addresses inside the cluster.
    pub fn internal_ips(&self) -> impl Iterator<Item = IpAddr> {
        let internal = self.status.addresses.iter().filter(|address| address.kind == "InternalIP");
        internal.filter_map(|address| address.address.parse().ok())
    }

    /// Where a taint stands among its taints.
    pub fn taint(&self, key: &str) -> Option<usize> {
        self.spec.taints.iter().position(|taint| taint.key == key)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConfigMap {
    pub(super) data: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Metadata,
    pub(super) status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodStatus {
    pub(super) phase: String,
}

#[cfg(test)]
impl Node {
    /// A node for tests.
    pub(crate) fn of(text: &str) -> Self {
        serde_json::from_str(text).unwrap()
    }
}
