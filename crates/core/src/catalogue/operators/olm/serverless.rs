//! Serverless: workloads that run while they are asked for.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::definition::{Group, Membership, Namespace, Package, operator};

operator! {
    "serverless", ServerlessRequirementsSatisfied, "Serverless";
    namespace: "openshift-serverless",
    subscription: "serverless-operator",
    bundle: Membership::RequiredOfSeveralNodes("openshift-ai"),
    rule: Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Serverless, "ServerLess") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("openshift-serverless").saying_strategy()),
        files: "50_serverless_",
        ..Package::NONE
    },
}
