//! Nodes: what matters of them.

use std::net::IpAddr;

use k8s_openapi::api::core::v1 as core;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, Client};

/// What matters of a node.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub name: String,
    /// Addresses inside of the cluster, in order.
    pub internal: Vec<IpAddr>,
    /// Names that the node goes by.
    pub names: Vec<String>,
    /// All addresses.
    pub addresses: Vec<IpAddr>,
    pub ready: bool,
    pub taints: Vec<String>,
    pub metadata: ObjectMeta,
}

impl From<core::Node> for Node {
    fn from(node: core::Node) -> Self {
        let status = node.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let told = status.addresses.unwrap_or_default();
        let of = |kinds: &[&str]| {
            let of_kind = told.iter().filter(|address| kinds.contains(&address.type_.as_str()));
            of_kind.map(|address| address.address.clone()).collect::<Vec<_>>()
        };
        let parsed = |texts: Vec<String>| texts.iter().filter_map(|text| text.parse().ok()).collect();
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        Self {
            name: node.metadata.name.clone().unwrap_or_default(),
            internal: parsed(of(&["InternalIP"])),
            names: of(&["Hostname", "InternalDNS", "ExternalDNS"]),
            addresses: parsed(of(&["InternalIP", "ExternalIP"])),
            ready: conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True"),
            taints: taints.into_iter().map(|taint| taint.key).collect(),
            metadata: node.metadata,
        }
    }
}

/// All nodes.
pub async fn list(kube: &Client) -> Result<Vec<Node>, kube::Error> {
    let nodes = Api::<core::Node>::all(kube.clone()).list(&ListParams::default()).await?;
    Ok(nodes.items.into_iter().map(Node::from).collect())
}
