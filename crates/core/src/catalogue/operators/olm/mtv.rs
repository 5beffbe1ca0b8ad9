//! The migration toolkit for virtualization: virtual machines of others, brought over.

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
    Behaviour, FileNames, Group, Membership, Namespace, OperatorRequirements, Package, PlannedCluster,
    Preflight, operator,
};
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::policy;

const NAMESPACE: &str = "openshift-mtv";

operator! {
    "mtv", MtvRequirementsSatisfied, "OpenShift Migration Toolkit for Virtualization";
    namespace: NAMESPACE,
    subscription: "mtv-operator",
    timeout_seconds: 3600,
    depends_on: &["cnv"],
    bundle: Membership::Required("virtualization"),
    rule: Rule {
        levels: &[(Base(4, 14), Supported)],
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::Vsphere)],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le],
        features: &[Id::NutanixIntegration, Id::VsphereIntegration],
        ..Rule::new(Id::Mtv, "OpenShift Migration Toolkit for Virtualization")
    },
    package: Package {
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("migration")),
        files: "50_openshift-mtv_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Mtv,
}

struct Mtv;

fn extra(policy: &policy::Operators) -> OperatorRequirements {
    OperatorRequirements::new(policy.mtv_cpu_per_host, policy.mtv_memory_per_host_mib)
}

impl Behaviour for Mtv {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        if host.selection.assigned == HostRole::Arbiter {
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
        architecture_and_version(view, &OPERATOR, (4, 14))
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "forklift.konveyor.io/v1beta1", "kind": "ForkliftController",
            "metadata": {"name": "forklift-controller", "namespace": NAMESPACE},
            "spec": {"olm_managed": true},
        })]
    }
}
