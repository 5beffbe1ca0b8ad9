//! When an image is the cluster's own (ocl-day1 §B8): its MachineOSConfig is seeded with it, the pool is updated, and each node has it.

use assisted_wire::on_cluster_layering::{LayeringBuild, Pool};
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use serde_json::Value;

const PREFIX: &str = "machineconfiguration.openshift.io/";
const MASTER: &str = "node-role.kubernetes.io/master";

/// What the cluster says.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub os_config: Option<Value>,
    pub pool: Option<Value>,
    /// Our MachineConfig, and the operator's, that name the image.
    pub own: Option<Value>,
    pub component: Option<Value>,
    /// How many nodes the pool is to have.
    pub expected: usize,
    pub nodes: Vec<NodeFacts>,
}

/// What a node says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFacts {
    pub name: String,
    pub current_config: String,
    pub desired_config: String,
    pub current_image: String,
    pub desired_image: String,
    /// The image that its configuration names.
    pub boots: String,
}

impl NodeFacts {
    /// `None` where the node is of another pool.
    pub(super) fn of(node: &Node, pool: Pool) -> Option<Self> {
        if pool == Pool::Worker && node.labels().contains_key(MASTER) {
            return None;
        }
        let annotation =
            |name: &str| node.annotations().get(&format!("{PREFIX}{name}")).cloned().unwrap_or_default();
        Some(Self {
            name: node.name_any(),
            current_config: annotation("currentConfig"),
            desired_config: annotation("desiredConfig"),
            current_image: annotation("currentImage"),
            desired_image: annotation("desiredImage"),
            boots: String::new(),
        })
    }
}

/// How far the cluster is with an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Adoption {
    /// It is the cluster's own; whether our MachineConfig has become superfluous.
    Adopted {
        superfluous: bool,
    },
    Waiting(String),
    /// The release takes no images over.
    NotSeedable,
    Wrong(String),
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|condition| condition["type"] == name)
}

/// Whether a condition of an object holds.
pub(super) fn holds(object: &Value, name: &str) -> bool {
    condition(object, name).is_some_and(|condition| condition["status"] == "True")
}

/// Decides how far a pool is whose image is ready.
pub(super) fn decide(build: &LayeringBuild, facts: &Facts) -> Adoption {
    let pool = build.pool;
    let image = build.image.as_deref().unwrap_or_default();
    // A node's first configuration is the rendered one with the image; whatever it has later names it too.
    let odd = facts.nodes.iter().find(|node| !node.boots.is_empty() && node.boots != image);
    if let Some(node) = odd {
        return Adoption::Wrong(format!("node {} boots {}, and not {image}", node.name, node.boots));
    }
    if build.seedable == Some(false) {
        return Adoption::NotSeedable;
    }
    let Some(os_config) = &facts.os_config else {
        return Adoption::Waiting(format!("MachineOSConfig {pool} is not there"));
    };
    if !holds(os_config, "Seeded") {
        let why = condition(os_config, "Seeded").and_then(|condition| condition["message"].as_str());
        return Adoption::Waiting(format!(
            "MachineOSConfig {pool} is not seeded: {}",
            why.unwrap_or("no reason is told")
        ));
    }
    let seeded =
        os_config.pointer("/status/currentImagePullSpec").and_then(Value::as_str).unwrap_or_default();
    if seeded != image {
        return Adoption::Waiting(format!("MachineOSConfig {pool} has the image {seeded:?}"));
    }
    let Some(state) = &facts.pool else {
        return Adoption::Waiting(format!("MachineConfigPool {pool} is not there"));
    };
    let name = |part: &str| state[part]["configuration"]["name"].as_str().unwrap_or_default();
    if !holds(state, "Updated") || name("spec") != name("status") {
        return Adoption::Waiting(format!("MachineConfigPool {pool} is not updated"));
    }
    // A pool is updated while it is empty, too.
    if facts.nodes.len() < facts.expected {
        return Adoption::Waiting(format!(
            "{} of {} nodes of pool {pool} have joined",
            facts.nodes.len(),
            facts.expected
        ));
    }
    for node in &facts.nodes {
        let images = [&node.current_image, &node.desired_image];
        // What it was given before its first start is what the pool has: rendered names are equal (§B7.1).
        let is_pools = node.current_config == node.desired_config && node.current_config == name("status");
        if !is_pools || images.iter().any(|other| *other != image) {
            return Adoption::Waiting(format!("node {} is not in the image yet", node.name));
        }
    }
    let names = |config: &Option<Value>| {
        config
            .as_ref()
            .and_then(|config| config["spec"]["osImageURL"].as_str())
            .is_some_and(|url| url == image)
    };
    Adoption::Adopted { superfluous: names(&facts.own) && names(&facts.component) }
}

#[cfg(test)]
mod tests {
    use assisted_wire::on_cluster_layering::{BuildLocation, BuildState};
    use serde_json::json;

    use super::*;

    const IMAGE: &str = "api-int.c.d:22626/ocl/os-image-master@sha256:1";

    fn build() -> LayeringBuild {
        serde_json::from_value(json!({
            "pool": Pool::Master, "location": BuildLocation::Bootstrap, "state": BuildState::Ready, "image": IMAGE, "seedable": true,
        }))
        .unwrap()
    }

    fn node() -> NodeFacts {
        NodeFacts {
            name: "m-0".to_owned(),
            current_config: "rendered-master-1".to_owned(),
            desired_config: "rendered-master-1".to_owned(),
            current_image: IMAGE.to_owned(),
            desired_image: IMAGE.to_owned(),
            boots: IMAGE.to_owned(),
        }
    }

    fn facts() -> Facts {
        let config = json!({"spec": {"osImageURL": IMAGE}});
        let name = json!({"name": "rendered-master-1"});
        Facts {
            os_config: Some(
                json!({"status": {"currentImagePullSpec": IMAGE, "conditions": [{"type": "Seeded", "status": "True"}]}}),
            ),
            pool: Some(json!({"spec": {"configuration": name}, "status": {"configuration": name,
                "conditions": [{"type": "Updated", "status": "True"}]}})),
            own: Some(config.clone()),
            component: Some(config),
            expected: 1,
            nodes: vec![node()],
        }
    }

    #[test]
    fn an_image_is_the_clusters_own_when_all_have_it() {
        assert_eq!(decide(&build(), &facts()), Adoption::Adopted { superfluous: true });
        let gone = Facts { own: None, ..facts() };
        assert_eq!(decide(&build(), &gone), Adoption::Adopted { superfluous: false });
        let other = Facts { component: Some(json!({"spec": {"osImageURL": "x"}})), ..facts() };
        assert_eq!(decide(&build(), &other), Adoption::Adopted { superfluous: false });
        // Nobody is waited for where nobody comes.
        let empty = Facts { expected: 0, nodes: Vec::new(), ..facts() };
        assert_eq!(decide(&build(), &empty), Adoption::Adopted { superfluous: true });
        let old = LayeringBuild { seedable: Some(false), ..build() };
        assert_eq!(decide(&old, &Facts::default()), Adoption::NotSeedable);
    }

    #[test]
    fn what_is_missing_is_told() {
        let unseeded = json!({"status": {"conditions": [{"type": "Seeded", "status": "False", "message": "secret os-image-push not found"}]}});
        let updating = json!({"status": {"conditions": [{"type": "Updated", "status": "False"}]}});
        for (facts, told) in [
            (Facts { os_config: None, ..facts() }, "MachineOSConfig master is not there"),
            (Facts { os_config: Some(unseeded), ..facts() }, "secret os-image-push not found"),
            (Facts { pool: None, ..facts() }, "MachineConfigPool master is not there"),
            (Facts { pool: Some(updating), ..facts() }, "is not updated"),
            (Facts { nodes: Vec::new(), ..facts() }, "0 of 1 nodes of pool master have joined"),
            (Facts { expected: 2, ..facts() }, "1 of 2 nodes of pool master have joined"),
            (
                Facts { nodes: vec![NodeFacts { current_image: String::new(), ..node() }], ..facts() },
                "node m-0 is not",
            ),
            (
                Facts { nodes: vec![NodeFacts { desired_config: "x".into(), ..node() }], ..facts() },
                "node m-0 is not",
            ),
            (
                Facts {
                    nodes: vec![NodeFacts {
                        current_config: "rendered-master-0".into(),
                        desired_config: "rendered-master-0".into(),
                        ..node()
                    }],
                    ..facts()
                },
                "node m-0 is not",
            ),
        ] {
            match decide(&build(), &facts) {
                Adoption::Waiting(what) => assert!(what.contains(told), "{what}"),
                other => panic!("{told}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_node_in_another_image_is_found() {
        let nodes =
            vec![node(), NodeFacts { name: "m-1".into(), boots: "quay.io/os@sha256:0".into(), ..node() }];
        match decide(&build(), &Facts { nodes, ..facts() }) {
            Adoption::Wrong(what) => assert!(what.contains("node m-1 boots quay.io/os@sha256:0"), "{what}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn control_plane_nodes_are_no_workers() {
        let node: Node = serde_json::from_value(json!({"metadata": {"name": "m", "labels": {MASTER: ""},
            "annotations": {"machineconfiguration.openshift.io/currentConfig": "r"}}}))
        .unwrap();
        assert!(NodeFacts::of(&node, Pool::Worker).is_none());
        assert_eq!(NodeFacts::of(&node, Pool::Master).unwrap().current_config, "r");
    }
}
