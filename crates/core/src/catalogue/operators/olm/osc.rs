//! Sandboxed containers: containers in virtual machines of their own.

use assisted_base::version::Base;
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::host::HostRole;
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::Supported;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::checks::{architecture_and_version, has_resources};
use crate::catalogue::operators::definition::{
    Behaviour, FileNames, Group, Namespace, OperatorRequirements, Package, PlannedCluster, Preflight,
    operator,
};
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::policy;

const NAMESPACE: &str = "openshift-sandboxed-containers-operator";

operator! {
    "osc", OscRequirementsSatisfied, "OpenShift sandboxed containers";
    namespace: NAMESPACE,
    subscription: "sandboxed-containers-operator",
    timeout_seconds: 3600,
    depends_on: &["node-feature-discovery"],
    rule: Rule {
        levels: &[(Base(4, 10), Supported)],
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::Vsphere)],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le],
        features: &[Id::NutanixIntegration, Id::VsphereIntegration],
        ..Rule::new(Id::Osc, "OpenShift sandboxed containers")
    },
    package: Package {
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("sandboxed-containers-operator-group")),
        files: "50_openshift-osc_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Osc,
}

struct Osc;

fn extra(policy: &policy::Operators) -> OperatorRequirements {
    OperatorRequirements::new(policy.osc_cpu_per_host, policy.osc_memory_per_host_mib)
}

impl Behaviour for Osc {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        if host.selection.role == HostRole::Arbiter {
            OperatorRequirements::default()
        } else {
            extra(host.policy())
        }
    }

    fn preflight(&self, _: PlannedCluster<'_>, policy: &policy::Operators) -> Preflight {
        Preflight::of_resources(extra(policy))
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let needs = self.requirements(host);
        has_resources(host, OPERATOR.full_name, needs, "Missing Inventory in some of the hosts")
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        architecture_and_version(view, &OPERATOR, (4, 10))
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "kataconfiguration.openshift.io/v1", "kind": "KataConfig",
            "metadata": {"name": "cluster-kataconfig", "namespace": NAMESPACE},
            "spec": {"enablePeerPods": false, "logLevel": "info"},
        })]
    }
}
