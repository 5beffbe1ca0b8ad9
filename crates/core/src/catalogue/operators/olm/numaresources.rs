//! NUMA resources: workloads are placed by the memory that is near.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::checks::prometheus;
use crate::catalogue::operators::definition::{Behaviour, Group, Membership, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-numaresources";

operator! {
    "numaresources", NumaResourcesRequirementsSatisfied, "NUMA Resources";
    namespace: NAMESPACE,
    subscription: "numaresources-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule::new(Id::NumaResources, "NUMA Resources"),
    package: Package {
        says_automatic: false,
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("numaresources-operator")),
        files: "50_numaresources_",
        ..Package::NONE
    },
    behaviour: &Numaresources,
}

struct Numaresources;

impl Behaviour for Numaresources {
    fn manifests(&self, _: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        prometheus(NAMESPACE)
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "nodetopology.openshift.io/v1", "kind": "NUMAResourcesOperator",
            // The operator takes note of an object of this name alone.
            "metadata": {"name": "numaresourcesoperator"},
            "spec": {"nodeGroups": [{"machineConfigPoolSelector": {
                "matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""},
            }}]},
        })]
    }
}
