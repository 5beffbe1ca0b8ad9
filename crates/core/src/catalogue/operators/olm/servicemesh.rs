//! A service mesh: connections between services, secured and observed.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::definition::{Membership, Package, operator};

operator! {
    "servicemesh", ServicemeshRequirementsSatisfied, "Service Mesh";
    namespace: "openshift-operators",
    subscription: "servicemeshoperator",
    bundle: Membership::RequiredOfSeveralNodes("openshift-ai"),
    rule: Rule { levels: &[(ALWAYS, DevPreview)], ..Rule::new(Id::Servicemesh, "ServiceMesh") },
    package: Package {
        channel: Some("stable"),
        files: "50_servicemesh_",
        ..Package::NONE
    },
}
