//! Node health check: nodes that fail are found and remedied.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Behaviour, Group, Membership, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-workload-availability";

operator! {
    "node-healthcheck", NodeHealthcheckRequirementsSatisfied, "Node Healthcheck";
    namespace: NAMESPACE,
    subscription: "node-healthcheck-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule { features: &[Id::Sno], ..Rule::new(Id::NodeHealthcheck, "Node Healthcheck") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("openshift-node-availability")),
        files: "50_node_healthcheck_",
        ..Package::NONE
    },
    behaviour: &NodeHealthcheck,
}

struct NodeHealthcheck;

impl Behaviour for NodeHealthcheck {
    fn objects(&self, view: &ClusterView<'_>) -> Vec<Value> {
        let policy = view.policy();
        let no_control_plane = |role: &str| json!({"key": format!("node-role.kubernetes.io/{role}"), "operator": "DoesNotExist"});
        vec![json!({
            "apiVersion": "remediation.medik8s.io/v1alpha1", "kind": "NodeHealthCheck",
            "metadata": {"name": "node-healthcheck-self-node-remediation-workers"},
            "spec": {
                "selector": {"matchExpressions": [no_control_plane("control-plane"), no_control_plane("master")]},
                "remediationTemplate": {
                    "apiVersion": "self-node-remediation.medik8s.io/v1alpha1", "kind": "SelfNodeRemediationTemplate",
                    "namespace": NAMESPACE, "name": policy.self_node_remediation_template_name,
                },
                "minHealthy": policy.min_percentage_of_matching_nodes_for_remediation,
                "unhealthyConditions": [
                    {"type": "Ready", "status": "False", "duration": policy.node_healthcheck_unready_duration},
                    {"type": "Ready", "status": "Unknown", "duration": policy.node_healthcheck_unknown_duration},
                ],
            },
        })]
    }
}
