//! Node maintenance: nodes are emptied before work on them.

use assisted_wire::support_level::FeatureSupportLevelId as Id;

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Group, Membership, Namespace, Package, operator};

operator! {
    "node-maintenance", NodeMaintenanceRequirementsSatisfied, "Node Maintenance Operator";
    namespace: "openshift-workload-maintenance",
    subscription: "node-maintenance-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule { features: &[Id::Sno], ..Rule::new(Id::NodeMaintenance, "Node Maintenance Operator") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("openshift-node-availability")),
        files: "50_node_maintenance_",
        ..Package::NONE
    },
}
