//! NMState: the network of nodes as objects of the cluster.

use assisted_base::version::Base;
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::platform::PlatformType as Platform;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::Supported;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::checks::architecture_and_version;
use crate::catalogue::operators::definition::{
    Behaviour, FileNames, Group, Membership, Namespace, Package, operator,
};
use crate::catalogue::operators::view::ClusterView;
use crate::model::outcome::Outcome;

operator! {
    "nmstate", NmstateRequirementsSatisfied, "Kubernetes NMState Operator";
    namespace: "openshift-nmstate",
    subscription: "kubernetes-nmstate-operator",
    timeout_seconds: 3600,
    bundle: Membership::Required("virtualization"),
    rule: Rule {
        levels: &[(Base(4, 12), Supported)],
        platforms: &[PlatformExclusion::On(Platform::Nutanix), PlatformExclusion::On(Platform::External)],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le],
        features: &[Id::NutanixIntegration, Id::ExternalPlatform, Id::ExternalPlatformOci],
        ..Rule::new(Id::Nmstate, "Nmstate node network configuration")
    },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("openshift-nmstate")),
        files: "50_openshift-nmstate_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Nmstate,
}

struct Nmstate;

impl Behaviour for Nmstate {
    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        architecture_and_version(view, &OPERATOR, (4, 12))
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({"apiVersion": "nmstate.io/v1", "kind": "NMState", "metadata": {"name": "nmstate"}})]
    }
}
