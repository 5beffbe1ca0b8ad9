//! Loki: where logs are kept.

use assisted_base::version::{Base, below};
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::Supported;

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::checks::too_old;
use crate::catalogue::operators::definition::{
    Behaviour, FileNames, Group, Membership, Namespace, Package, operator,
};
use crate::catalogue::operators::view::ClusterView;
use crate::model::outcome::Outcome;

operator! {
    "loki", LokiRequirementsSatisfied, "Loki Operator";
    namespace: "openshift-operators-redhat",
    subscription: "loki-operator",
    bundle: Membership::Required("virtualization"),
    rule: Rule {
        levels: &[(Base(4, 17), Supported)],
        ..Rule::new(Id::Loki, "Loki Operator")
    },
    package: Package {
        namespace: Some(Namespace::Monitored),
        group: Some(Group::all("loki-operator").saying_strategy()),
        files: "50_openshift-loki_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Loki,
}

struct Loki;

impl Behaviour for Loki {
    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        if below(&view.cluster.openshift_version, 4, 17) {
            let text = "Loki Operator is only supported for OpenShift versions 4.17.0 and above";
            return too_old(view, text.to_owned(), "4.17.0");
        }
        Outcome::success("")
    }
}
