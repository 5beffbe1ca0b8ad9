//! Local storage: every disk that nobody uses becomes a volume.

use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::checks::prometheus;
use crate::catalogue::operators::definition::{Behaviour, FileNames, Group, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-local-storage";

operator! {
    "lso", LsoRequirementsSatisfied, "Local Storage Operator";
    namespace: NAMESPACE,
    subscription: "local-storage-operator",
    timeout_seconds: 4200,
    rule: Rule { architectures: &[Cpu::Arm64], ..Rule::new(Id::Lso, "Local Storage Operator") },
    package: Package {
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("local-storage").providing("LocalVolume.v1.local.storage.openshift.io")),
        files: "50_openshift-lso_",
        file_names: FileNames::Short,
        ..Package::NONE
    },
    behaviour: &Lso,
}

struct Lso;

impl Behaviour for Lso {
    fn manifests(&self, _: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        prometheus(NAMESPACE)
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![json!({
            "apiVersion": "local.storage.openshift.io/v1alpha1", "kind": "LocalVolumeSet",
            "metadata": {"name": "local-disks", "namespace": NAMESPACE},
            "spec": {
                "storageClassName": "localblock-sc", "volumeMode": "Block",
                "deviceInclusionSpec": {"deviceTypes": ["disk"]},
            },
        })]
    }
}
