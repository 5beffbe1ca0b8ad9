//! Fence agents: a node that fails is switched off by its power management. It lives in the namespace of node health check.

use assisted_wire::support_level::FeatureSupportLevelId as Id;

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Membership, Package, operator};

operator! {
    "fence-agents-remediation", FenceAgentsRemediationRequirementsSatisfied, "Fence Agents Remediation";
    namespace: "openshift-workload-availability",
    subscription: "fence-agents-remediation",
    depends_on: &["node-healthcheck"],
    bundle: Membership::Required("virtualization"),
    rule: Rule { features: &[Id::Sno], ..Rule::new(Id::FenceAgentsRemediation, "Fence Agents Remediation") },
    package: Package {
        channel: Some("stable"),
        files: "50_fence_agents_remediation_",
        ..Package::NONE
    },
}
