//! MetalLB: addresses for services of the type LoadBalancer.

use assisted_base::version::Base;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::Supported;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Behaviour, Group, Membership, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "metallb-system";

operator! {
    "metallb", MetallbRequirementsSatisfied, "MetalLB";
    namespace: NAMESPACE,
    subscription: "metallb-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule { levels: &[(Base(4, 11), Supported)], ..Rule::new(Id::Metallb, "MetalLB") },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("metallb")),
        files: "50_metallb_",
        ..Package::NONE
    },
    behaviour: &Metallb,
}

struct Metallb;

impl Behaviour for Metallb {
    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "metallb.io/v1beta1", "kind": "MetalLB",
            "metadata": {"name": "metallb", "namespace": NAMESPACE},
            "spec": {},
        })]
    }
}
