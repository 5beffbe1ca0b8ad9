//! Logging: logs of the cluster, collected.

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
    "openshift-logging", OpenshiftLoggingRequirementsSatisfied, "Red Hat OpenShift Logging Operator";
    namespace: "openshift-logging",
    subscription: "cluster-logging",
    depends_on: &["loki"],
    bundle: Membership::Required("virtualization"),
    rule: Rule {
        levels: &[(Base(4, 17), Supported)],
        ..Rule::new(Id::OpenshiftLogging, "Red Hat OpenShift Logging Operator")
    },
    package: Package {
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("cluster-logging")),
        files: "50_openshift-logging_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &OpenshiftLogging,
}

struct OpenshiftLogging;

impl Behaviour for OpenshiftLogging {
    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        if below(&view.cluster.openshift_version, 4, 17) {
            let text = "OpenShift Logging Operator is only supported for OpenShift versions 4.17.0 and above";
            return too_old(view, text.to_owned(), "4.17.0");
        }
        Outcome::success("")
    }
}
