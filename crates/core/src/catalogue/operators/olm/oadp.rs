//! OADP: backups of applications.

use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Behaviour, Group, Membership, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-adp";

operator! {
    "oadp", OadpRequirementsSatisfied, "OADP Operator";
    namespace: NAMESPACE,
    subscription: "redhat-oadp-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule::new(Id::Oadp, "OADP Operator"),
    package: Package {
        says_automatic: false,
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("oadp")),
        files: "50_oadp_",
        ..Package::NONE
    },
    behaviour: &Oadp,
}

struct Oadp;

impl Behaviour for Oadp {
    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        // The replaced service names no namespace, so that it lands in "default", where nobody looks (operators §1, trap 5).
        vec![json!({
            "apiVersion": "oadp.openshift.io/v1alpha1", "kind": "DataProtectionApplication",
            "metadata": {"name": "dpa-sample", "namespace": NAMESPACE},
            "spec": {"configuration": {"velero": {"defaultPlugins": ["openshift"]}}},
        })]
    }
}
