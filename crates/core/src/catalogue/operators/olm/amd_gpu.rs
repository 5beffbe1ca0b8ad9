//! GPUs of AMD.

use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::checks::{machine_config, prometheus};
use crate::catalogue::operators::definition::{
    Behaviour, CERTIFIED, Group, Membership, Namespace, Package, operator,
};
use crate::catalogue::operators::gpu::Vendor;
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;

const NAMESPACE: &str = "openshift-amd-gpu";

operator! {
    "amd-gpu", AmdGpuRequirementsSatisfied, "AMD GPU";
    namespace: NAMESPACE,
    subscription: "amd-gpu-operator",
    depends_on: &["node-feature-discovery", "kmm"],
    bundle: Membership::Optional("openshift-ai"),
    rule: Rule {
        levels: &[(ALWAYS, DevPreview)],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le],
        ..Rule::new(Id::AmdGpu, "AMD GPU")
    },
    package: Package {
        channel: Some("alpha"),
        source: CERTIFIED,
        namespace: Some(Namespace::Monitored),
        group: Some(Group::all("kube-amd-gpu").saying_strategy()),
        files: "50_amd_gpu_",
        ..Package::NONE
    },
    behaviour: &AmdGpu,
}

struct AmdGpu;

const VENDOR: Vendor = Vendor { name: "AMD", id: "1002" };

impl Behaviour for AmdGpu {
    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        VENDOR.check_host(host)
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        VENDOR.check_cluster(view, view.policy().amd_require_gpu, &view.policy().amd_supported_gpus)
    }

    fn manifests(&self, _: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        prometheus(NAMESPACE)
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        let source = format!("data:text/plain;base64,{}", STANDARD.encode("blacklist amdgpu\n"));
        let spec = json!({"config": {
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{
                "path": "/etc/modprobe.d/amdgpu-blacklist.conf", "mode": 420, "overwrite": true,
                "contents": {"source": source},
            }]},
        }});
        vec![
            machine_config("99-amdgpu-module-blacklist-worker", "worker", &spec),
            machine_config("99-amdgpu-module-blacklist-master", "master", &spec),
            json!({
                "apiVersion": "amd.com/v1alpha1", "kind": "DeviceConfig",
                "metadata": {"name": "default", "namespace": NAMESPACE},
                "spec": {
                    "devicePlugin": {
                        "devicePluginImage": "docker.io/rocm/k8s-device-plugin:latest",
                        "nodeLabellerImage": "docker.io/rocm/k8s-device-plugin:labeller-latest",
                    },
                    "driver": {"version": "6.4.3"},
                    "selector": {"feature.node.kubernetes.io/amd-gpu": "true"},
                },
            }),
        ]
    }
}
