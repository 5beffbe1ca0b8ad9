//! Self node remediation: a node that is cut off restarts itself. It lives in the namespace of node health check.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::TechPreview;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::definition::{Package, operator};

operator! {
    "self-node-remediation", SelfNodeRemediationRequirementsSatisfied, "Self Node Remediation";
    namespace: "openshift-workload-availability",
    subscription: "self-node-remediation",
    depends_on: &["node-healthcheck"],
    rule: Rule { levels: &[(ALWAYS, TechPreview)], features: &[Id::Sno], ..Rule::new(Id::SelfNodeRemediation, "Self Node Remediation") },
    package: Package {
        channel: Some("stable"),
        files: "50_self_node_remediation_",
        ..Package::NONE
    },
}
