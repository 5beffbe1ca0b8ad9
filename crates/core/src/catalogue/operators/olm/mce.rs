//! The multicluster engine: clusters that install and manage others.

use assisted_base::version::{Base, Version};
use assisted_wire::host::HostRole;
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::Supported;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::checks::{has_resources, too_old};
use crate::catalogue::operators::definition::{
    Behaviour, FileNames, Group, Namespace, OperatorRequirements, Package, PlannedCluster, Preflight,
    RolePreflight, operator,
};
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::policy;

const NAMESPACE: &str = "multicluster-engine";

operator! {
    "mce", MceRequirementsSatisfied, "multicluster engine";
    namespace: NAMESPACE,
    subscription: "multicluster-engine",
    timeout_seconds: 3600,
    rule: Rule {
        levels: &[(Base(4, 10), Supported)],
        platforms: &[PlatformExclusion::On(Platform::Nutanix)],
        features: &[Id::NutanixIntegration],
        ..Rule::new(Id::Mce, "multicluster engine")
    },
    package: Package {
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("mce")),
        files: "50_openshift-mce_",
        file_names: FileNames::OfEngine,
        ..Package::NONE
    },
    behaviour: &Mce,
}

struct Mce;

impl Behaviour for Mce {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        match host.selection.assigned {
            HostRole::Arbiter => OperatorRequirements::default(),
            _ if topology::is_single_node(host.cluster) => OperatorRequirements::with_gib(8, 32),
            _ => OperatorRequirements::with_gib(4, 16),
        }
    }

    fn preflight(&self, _: PlannedCluster<'_>, _: &policy::Operators) -> Preflight {
        // Told so of a single node, too, whatever is then required of its host (operators §1, trap 19).
        Preflight::of_both(RolePreflight::new(OperatorRequirements::with_gib(4, 16), &[]))
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        has_resources(host, OPERATOR.full_name, self.requirements(host), "Missing Inventory in the host")
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        let least = &view.policy().mce_min_openshift_version;
        let (own, required) = (Version::parse(&view.cluster.openshift_version), Version::parse(least));
        // A version before its release is older than the release.
        if own.is_some_and(|own| required.is_none_or(|required| own >= required)) {
            return Outcome::success("");
        }
        let text = format!("multicluster engine is only supported for openshift versions {least} and above");
        too_old(view, text, least)
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "multicluster.openshift.io/v1", "kind": "MultiClusterEngine",
            "metadata": {"name": "mce"},
            "spec": {"targetNamespace": NAMESPACE},
        })]
    }
}
