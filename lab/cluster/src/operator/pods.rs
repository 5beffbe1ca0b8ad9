//! Pods are given to ready nodes that they may run on.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::NodeView;

/// Gives each pod that waits to a node.
pub async fn schedule(kube: &Client, nodes: &[NodeView]) -> Result<()> {
    let waiting = ListParams::default().fields("spec.nodeName=");
    for pod in Api::<Pod>::all(kube.clone()).list(&waiting).await?.items {
        let (name, namespace) = (pod.name_any(), pod.namespace().unwrap_or_default());
        let wanted = pod.spec.as_ref().and_then(|spec| spec.node_selector.clone()).unwrap_or_default();
        let Some(node) = fitting(nodes, &wanted) else { continue };
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "namespace": namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node.name},
        });
        let pods = Api::<Pod>::namespaced(kube.clone(), &namespace);
        let bound: Result<Value, _> =
            pods.create_subresource("binding", &name, &PostParams::default(), &binding).await;
        match bound {
            Ok(_) => info!(pod = name, node = node.name, "given"),
            Err(error) => warn!(pod = name, %error, "can't be given to a node"),
        }
    }
    Ok(())
}

fn fitting<'a>(nodes: &'a [NodeView], wanted: &BTreeMap<String, String>) -> Option<&'a NodeView> {
    let has = |node: &NodeView| wanted.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    nodes.iter().find(|node| node.ready && has(node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_go_where_they_may() {
        let node = |name: &str, role: &str, ready| NodeView {
            name: name.to_owned(),
            labels: [(format!("node-role.kubernetes.io/{role}"), String::new())].into(),
            ready,
        };
        let nodes = [node("w", "worker", true), node("a", "master", false), node("b", "master", true)];
        let masters = [("node-role.kubernetes.io/master".to_owned(), String::new())].into();
        assert_eq!(fitting(&nodes, &masters).map(|node| node.name.as_str()), Some("b"));
        assert_eq!(fitting(&nodes, &BTreeMap::new()).map(|node| node.name.as_str()), Some("w"));
        assert!(fitting(&nodes[..2], &masters).is_none());
    }
}
