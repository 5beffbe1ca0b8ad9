//! Kernel module management: modules that the vendor of the OS has not signed.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::checks::without_secure_boot;
use crate::catalogue::operators::definition::{Behaviour, Group, Namespace, Package, operator};
use crate::catalogue::operators::view::HostView;
use crate::model::outcome::Outcome;

operator! {
    "kmm", KmmRequirementsSatisfied, "KMM";
    namespace: "openshift-kmm",
    subscription: "kernel-module-management",
    rule: Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Kmm, "Kernel Module Management") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("openshift-kmm").saying_strategy()),
        files: "50_kmm_",
        ..Package::NONE
    },
    behaviour: &Kmm,
}

struct Kmm;

impl Behaviour for Kmm {
    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.inventory else {
            return Outcome::awaits_inventory("Missing inventory in the host");
        };
        without_secure_boot(inventory, "modules")
    }
}
