//! When an image is the cluster's own (ocl-day1 §B8): its MachineOSConfig is seeded with it, the pool is updated, and each node has it.

use assisted_ocl::builder::redact;
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

impl Facts {
    /// The name of the configuration that the pool is to have (`spec`), or has (`status`); empty where there is none.
    pub(super) fn configuration(&self, part: &str) -> &str {
        let name = self.pool.as_ref().and_then(|pool| pool[part]["configuration"]["name"].as_str());
        name.unwrap_or_default()
    }

    /// Tells whether the pool is to have another configuration than `before`, which it had when our MachineConfig was taken away.
    pub(super) fn renamed(&self, before: &str) -> Option<String> {
        let now = self.configuration("spec");
        (!now.is_empty() && now != before).then(|| {
            format!("the configuration {before} has become {now} since our MachineConfig was removed")
        })
    }
}

/// What a node says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeFacts {
    pub name: String,
    pub current_config: String,
    pub desired_config: String,
    pub current_image: String,
    pub desired_image: String,
    /// What its machine config daemon does, and why it does not come further.
    pub state: String,
    pub reason: String,
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
            state: annotation("state"),
            reason: redact(&annotation("reason")),
            boots: String::new(),
        })
    }

    /// The image that a node runs for good: it has said so itself, and the cluster wants nothing else of it. On its way it has none yet, or
    /// is to have another: while the operator takes an image over, and with `rollout: Switch` (ocl-day1 §B6.1).
    fn settled_image(&self) -> Option<&str> {
        let is_done = self.state == "Done"
            && self.current_config == self.desired_config
            && self.current_image == self.desired_image;
        (is_done && !self.current_image.is_empty()).then_some(self.current_image.as_str())
    }

    /// What the node lacks to be in its pool's image, with the configuration that the pool has; `None` where it is.
    fn lacks(&self, config: &str, image: &str) -> Option<String> {
        let Self {
            name, current_config, desired_config, current_image, desired_image, state, reason, ..
        } = self;
        let mut lacking = Vec::new();
        // What it was given before its first start is what the pool has: rendered names are equal (§B7.1).
        if current_config != desired_config || current_config != config {
            lacking.push(format!(
                "it has the configuration {current_config:?} and is to have {desired_config:?}, the pool has {config:?}"
            ));
        }
        if current_image != image || desired_image != image {
            lacking.push(format!("it runs the image {current_image:?} and is to run {desired_image:?}"));
        }
        if lacking.is_empty() {
            return None;
        }
        if !matches!(state.as_str(), "" | "Done") {
            lacking.push(format!("its machine config daemon is {state}: {reason}"));
        }
        Some(format!("node {name} is not in the image yet: {}", lacking.join("; ")))
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
    let os_config = facts.os_config.as_ref();
    let seeded = os_config
        .and_then(|config| config.pointer("/status/currentImagePullSpec")?.as_str())
        .unwrap_or_default();
    // An image that the operator has built since is the pool's own as well: that is waited for.
    for node in &facts.nodes {
        if let Some(booted) = node.settled_image().filter(|booted| ![image, seeded].contains(booted)) {
            return Adoption::Wrong(format!("node {} runs {booted}, and not {image}", node.name));
        }
    }
    if build.seedable == Some(false) {
        return Adoption::NotSeedable;
    }
    let Some(os_config) = os_config else {
        return Adoption::Waiting(format!("MachineOSConfig {pool} is not there"));
    };
    if !holds(os_config, "Seeded") {
        let why = condition(os_config, "Seeded").and_then(|condition| condition["message"].as_str());
        return Adoption::Waiting(format!(
            "MachineOSConfig {pool} is not seeded: {}",
            why.unwrap_or("no reason is told")
        ));
    }
    if seeded != image {
        return Adoption::Waiting(format!("MachineOSConfig {pool} has the image {seeded:?}"));
    }
    let Some(state) = &facts.pool else {
        return Adoption::Waiting(format!("MachineConfigPool {pool} is not there"));
    };
    let config = facts.configuration("status");
    if !holds(state, "Updated") || facts.configuration("spec") != config {
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
    if let Some(what) = facts.nodes.iter().find_map(|node| node.lacks(config, image)) {
        return Adoption::Waiting(what);
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
            state: "Done".to_owned(),
            reason: String::new(),
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
    fn a_node_that_is_done_in_another_image_is_found() {
        const STOCK: &str = "quay.io/os@sha256:0";
        let stock = || NodeFacts { current_image: STOCK.into(), desired_image: STOCK.into(), ..node() };
        let decided = |node: NodeFacts, seedable: bool| {
            let build = LayeringBuild { seedable: Some(seedable), ..build() };
            decide(&build, &Facts { nodes: vec![node], ..facts() })
        };
        for seedable in [true, false] {
            match decided(stock(), seedable) {
                Adoption::Wrong(what) => assert_eq!(what, format!("node m-0 runs {STOCK}, and not {IMAGE}")),
                other => panic!("{other:?}"),
            }
        }
        // None of these is where it stays.
        for (node, told) in [
            (
                NodeFacts { current_image: String::new(), desired_image: String::new(), ..stock() },
                "image \"\"",
            ),
            (NodeFacts { desired_image: IMAGE.into(), ..stock() }, "is to run \"api-int"),
            (NodeFacts { desired_config: "rendered-master-2".into(), ..stock() }, "is to have"),
            (
                NodeFacts { state: "Degraded".into(), reason: "no such image".into(), ..stock() },
                "its machine config daemon is Degraded: no such image",
            ),
        ] {
            match decided(node, true) {
                Adoption::Waiting(what) => assert!(what.contains(told), "{told}: {what}"),
                other => panic!("{told}: {other:?}"),
            }
        }
        // The operator has built another one since.
        let os_config = json!({"status": {"currentImagePullSpec": STOCK, "conditions": [{"type": "Seeded", "status": "True"}]}});
        let rebuilt = Facts { os_config: Some(os_config), nodes: vec![stock()], ..facts() };
        assert!(matches!(decide(&build(), &rebuilt), Adoption::Waiting(_)));
    }

    #[test]
    fn names_stay_as_they_were_when_ours_goes() {
        assert_eq!(facts().renamed("rendered-master-1"), None);
        let told = facts().renamed("rendered-master-0").unwrap();
        assert!(told.contains("rendered-master-0 has become rendered-master-1"), "{told}");
        assert_eq!(Facts::default().renamed("rendered-master-0"), None);
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
