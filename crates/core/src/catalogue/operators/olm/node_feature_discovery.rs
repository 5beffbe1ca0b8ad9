//! Node feature discovery: labels that tell what hardware a node has.

use assisted_base::version::Base;
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::Rule;
use crate::catalogue::operators::definition::{Behaviour, Group, Namespace, Package, operator};
use crate::catalogue::operators::view::ClusterView;

const NAMESPACE: &str = "openshift-nfd";

operator! {
    "node-feature-discovery", NodeFeatureDiscoveryRequirementsSatisfied, "Node Feature Discovery";
    namespace: NAMESPACE,
    subscription: "nfd",
    rule: Rule {
        levels: &[(Base(4, 6), DevPreview)],
        architectures: &[Cpu::S390x, Cpu::Ppc64le],
        ..Rule::new(Id::NodeFeatureDiscovery, "Node Feature Discovery")
    },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Monitored),
        group: Some(Group::own("openshift-nfd")),
        files: "50_nodefeaturediscovery_",
        ..Package::NONE
    },
    behaviour: &NodeFeatureDiscovery,
}

struct NodeFeatureDiscovery;

/// Devices of AMD's GPUs.
const AMD_GPUS: &[&str] = &[
    "75a3", "75a8", "75a0", "74a5", "74a2", "74a8", "74a0", "74a1", "74a9", "74bd", "740f", "7408", "740c",
    "738c", "738e",
];

/// Devices of AMD's GPUs as virtual machines see them.
const AMD_VIRTUAL_GPUS: &[&str] = &["75b3", "75b8", "75b0", "74b9", "74b6", "74bc", "74b5", "74bd", "7410"];

/// Which classes of devices are told, and by what: network interfaces, displays, accelerators; by their vendor.
const WORKER_CONFIG: &str = r#"core:
  sleepInterval: 60s
sources:
  pci:
    deviceClassWhitelist:
    - "0200"
    - "03"
    - "12"
    deviceLabelFields:
    - "vendor"
"#;

fn any_of(values: &[&str]) -> Value {
    json!({"op": "In", "value": values})
}

fn of_nic(device: &str, subsystem: &str) -> Value {
    json!({
        "vendor": any_of(&["1dd8"]), "device": any_of(&[device]), "subsystem_vendor": any_of(&["1dd8"]),
        "subsystem_device": any_of(&[subsystem]),
    })
}

/// A label for nodes that have such a device on their PCI bus.
fn pci_rule(name: &str, expressions: &Value) -> Value {
    json!({
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "kind": "NodeFeatureRule",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"rules": [{
            "name": name, "labels": {format!("feature.node.kubernetes.io/{name}"): "true"},
            "matchFeatures": [{"feature": "pci.device", "matchExpressions": expressions}],
        }]},
    })
}

impl Behaviour for NodeFeatureDiscovery {
    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        vec![
            pci_rule("amd-gpu", &json!({"vendor": any_of(&["1002"]), "device": any_of(AMD_GPUS)})),
            pci_rule("amd-nic", &of_nic("1002", "5201")),
            pci_rule("amd-vgpu", &json!({"vendor": any_of(&["1002"]), "device": any_of(AMD_VIRTUAL_GPUS)})),
            pci_rule("amd-vnic", &of_nic("1003", "5201")),
            json!({
                "apiVersion": "nfd.openshift.io/v1", "kind": "NodeFeatureDiscovery",
                "metadata": {"name": "nfd-instance", "namespace": NAMESPACE},
                "spec": {
                    "instance": "", "topologyUpdater": false,
                    "operand": {"imagePullPolicy": "IfNotPresent", "servicePort": 12000},
                    "workerConfig": {"configData": WORKER_CONFIG},
                },
            }),
        ]
    }
}
