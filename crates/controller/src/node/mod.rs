//! Nodes of the cluster: what matters of them, and what becomes of them.

mod config_server;
mod reboots;
mod status;
mod taint;

use std::net::IpAddr;

use k8s_openapi::api::core::v1 as core;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, Client};

pub(crate) use reboots::{Reboots, reboots};
pub(crate) use status::follow;
pub(crate) use taint::{is_needed as taint_is_to_go, remove as remove_taint};

/// What matters of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Addresses inside of the cluster, in order.
    pub(crate) internal: Vec<IpAddr>,
    /// Names that the node goes by.
    pub(crate) names: Vec<String>,
    /// All addresses.
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) ready: bool,
    pub(crate) taints: Vec<String>,
    pub(crate) metadata: ObjectMeta,
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
pub(crate) async fn list(kube: &Client) -> Result<Vec<Node>, kube::Error> {
    let nodes = Api::<core::Node>::all(kube.clone()).list(&ListParams::default()).await?;
    Ok(nodes.items.into_iter().map(Node::from).collect())
}
