//! Cluster observability: monitoring of one's own beside that of the cluster.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Behaviour, Group, Membership, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-cluster-observability-operator";

operator! {
    "cluster-observability", ClusterObservabilityRequirementsSatisfied, "Cluster Observability";
    namespace: NAMESPACE,
    subscription: "cluster-observability-operator",
    depends_on: &["openshift-logging"],
    bundle: Membership::Required("virtualization"),
    rule: Rule::new(Id::ClusterObservability, "Cluster Observability"),
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Monitored),
        group: Some(Group::all("cluster-observability")),
        files: "50_cluster_observability_",
        ..Package::NONE
    },
    behaviour: &ClusterObservability,
}

struct ClusterObservability;

impl Behaviour for ClusterObservability {
    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        // The replaced service names no namespace, so that they land in "default", where nobody looks (operators §1, trap 5).
        vec![
            json!({
                "apiVersion": "monitoring.rhobs/v1alpha1", "kind": "MonitoringStack",
                "metadata": {
                    "name": "sample-monitoring-stack", "namespace": NAMESPACE, "labels": {"mso": "example"},
                },
                "spec": {
                    "logLevel": "debug", "retention": "1d", "resourceSelector": {"matchLabels": {"app": "demo"}},
                },
            }),
            json!({
                "apiVersion": "monitoring.rhobs/v1alpha1", "kind": "ThanosQuerier",
                "metadata": {"name": "example-thanos", "namespace": NAMESPACE},
                "spec": {"selector": {"matchLabels": {"mso": "example"}}},
            }),
        ]
    }
}
