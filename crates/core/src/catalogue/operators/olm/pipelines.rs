//! Pipelines: builds and deployments as objects of the cluster.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::definition::{Membership, Package, operator};

operator! {
    "pipelines", PipelinesRequirementsSatisfied, "Pipelines";
    namespace: "openshift-operators",
    subscription: "openshift-pipelines-operator-rh",
    bundle: Membership::RequiredOfSeveralNodes("openshift-ai"),
    rule: Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Pipelines, "Pipelines") },
    package: Package {
        channel: Some("latest"),
        files: "50_pipelines_",
        ..Package::NONE
    },
}
