//! Authorino: authorisation in front of services.

use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::definition::{Membership, Package, operator};

operator! {
    "authorino", AuthorinoRequirementsSatisfied, "Authorino";
    namespace: "openshift-operators",
    subscription: "authorino-operator",
    bundle: Membership::RequiredOfSeveralNodes("openshift-ai"),
    rule: Rule { levels: &[(ALWAYS, DevPreview)], architectures: &[Cpu::Arm64], ..Rule::new(Id::Authorino, "Authorino") },
    package: Package {
        channel: Some("tech-preview-v1"),
        files: "50_authorino_",
        ..Package::NONE
    },
}
