//! GPUs of NVIDIA.

use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{ALWAYS, Rule};
use crate::catalogue::operators::definition::{
    Behaviour, CERTIFIED, Group, Membership, Namespace, Package, operator,
};
use crate::catalogue::operators::gpu::Vendor;
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;

operator! {
    "nvidia-gpu", NvidiaGpuRequirementsSatisfied, "NVIDIA GPU";
    namespace: "nvidia-gpu-operator",
    subscription: "gpu-operator-certified",
    depends_on: &["node-feature-discovery"],
    bundle: Membership::Optional("openshift-ai"),
    rule: Rule {
        levels: &[(ALWAYS, DevPreview)],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le],
        ..Rule::new(Id::NvidiaGpu, "NVIDIA GPU")
    },
    package: Package {
        channel: Some("stable"),
        source: CERTIFIED,
        namespace: Some(Namespace::Plain),
        group: Some(Group::own("nvidia-gpu-operator").saying_strategy()),
        files: "50_nvidia_gpu_",
        ..Package::NONE
    },
    behaviour: &NvidiaGpu,
}

struct NvidiaGpu;

const VENDOR: Vendor = Vendor { name: "NVIDIA", id: "10de" };

impl Behaviour for NvidiaGpu {
    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        VENDOR.check_host(host)
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        VENDOR.check_cluster(view, view.policy().nvidia_require_gpu, &view.policy().nvidia_supported_gpus)
    }

    fn objects(&self, _: &ClusterView<'_>) -> Vec<Value> {
        let on = || json!({"enabled": true});
        let off = || json!({"enabled": false});
        let timeouts = |drain: bool| {
            let mut all = json!({"deleteEmptyDir": false, "force": false, "timeoutSeconds": 300});
            if drain {
                all["enable"] = json!(false);
            }
            all
        };
        vec![json!({
            "apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy",
            "metadata": {"name": "gpu-cluster-policy"},
            "spec": {
                "daemonsets": {"updateStrategy": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "1"}},
                "dcgm": on(), "gfd": on(), "migManager": on(), "nodeStatusExporter": on(),
                "sandboxDevicePlugin": on(), "vfioManager": on(), "vgpuDeviceManager": on(),
                "gdrcopy": off(), "gds": off(), "vgpuManager": off(),
                "dcgmExporter": {"enabled": true, "config": {"name": ""}, "serviceMonitor": {"enabled": true}},
                "devicePlugin": {
                    "enabled": true, "config": {"default": "", "name": ""}, "mps": {"root": "/run/nvidia/mps"},
                },
                "driver": {
                    "enabled": true, "certConfig": {"name": ""}, "kernelModuleConfig": {"name": ""},
                    "licensingConfig": {"configMapName": "", "nlsEnabled": true},
                    "repoConfig": {"configMapName": ""}, "useNvidiaDriverCRD": false, "useOpenKernelModules": false,
                    "virtualTopology": {"config": ""},
                    "upgradePolicy": {
                        "autoUpgrade": true, "maxParallelUpgrades": 1, "maxUnavailable": "25%",
                        "drain": timeouts(true), "podDeletion": timeouts(false),
                        "waitForCompletion": {"timeoutSeconds": 0},
                    },
                },
                "mig": {"strategy": "single"},
                "operator": {
                    "defaultRuntime": "crio", "initContainer": {}, "runtimeClass": "nvidia",
                    "use_ocp_driver_toolkit": true,
                },
                "sandboxWorkloads": {"enabled": false, "defaultWorkload": "container"},
                "toolkit": {"enabled": true, "installDir": "/usr/local/nvidia"},
                "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
            },
        })]
    }
}
