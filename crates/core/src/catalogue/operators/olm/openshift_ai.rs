//! OpenShift AI: models, trained and served.

use assisted_base::version::Base;
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture as Cpu;
use assisted_wire::host::HostRole;
use assisted_wire::support_level::FeatureSupportLevelId as Id;
use assisted_wire::support_level::SupportLevel::DevPreview;
use serde_json::{Value, json};

use crate::catalogue::feature::rule::{PlatformExclusion, Rule};
use crate::catalogue::operators::checks::{resources, too_small};
use crate::catalogue::operators::definition::{
    Behaviour, Group, Membership, Namespace, OperatorRequirements, Package, PlannedCluster, Preflight,
    RolePreflight, operator,
};
use crate::catalogue::operators::is_selected;
use crate::catalogue::operators::setup::Setup;
use crate::catalogue::operators::view::{ClusterView, HostView};
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::policy;

operator! {
    "openshift-ai", OpenshiftAiRequirementsSatisfied, "OpenShift AI";
    namespace: "redhat-ods-operator",
    subscription: "rhods-operator",
    depends_on_single_node: &["lvm"],
    bundle: Membership::Required("openshift-ai"),
    rule: Rule {
        levels: &[(Base(4, 12), DevPreview)],
        platforms: &[PlatformExclusion::OnOci],
        architectures: &[Cpu::Arm64, Cpu::S390x, Cpu::Ppc64le],
        features: &[Id::ExternalPlatformOci],
        ..Rule::new(Id::OpenshiftAi, "OpenShift AI")
    },
    package: Package {
        channel: Some("stable"),
        namespace: Some(Namespace::Plain),
        group: Some(Group::all("rhods-operator").saying_strategy()),
        files: "50_openshift_ai_",
        ..Package::NONE
    },
    behaviour: &OpenshiftAi,
}

struct OpenshiftAi;

/// Where its applications are.
const APPLICATIONS: &str = "redhat-ods-applications";

fn extra(policy: &policy::Operators) -> OperatorRequirements {
    OperatorRequirements::with_gib(
        policy.openshift_ai_min_worker_cpu_cores,
        policy.openshift_ai_min_worker_memory_gib,
    )
}

/// Whether GPUs are among what it is installed with; it is installed either way.
pub(crate) fn gpu_support(cluster: &Cluster) -> Outcome {
    if is_selected(cluster, "nvidia-gpu") || is_selected(cluster, "amd-gpu") {
        Outcome::success("")
    } else {
        Outcome::success("No GPU vendor selected - OpenShift AI will be installed without GPU support")
    }
}

impl Behaviour for OpenshiftAi {
    fn requirements(&self, host: &HostView<'_>) -> OperatorRequirements {
        if host.selection.role == HostRole::Worker {
            extra(host.policy())
        } else {
            OperatorRequirements::default()
        }
    }

    fn preflight(&self, _: PlannedCluster<'_>, policy: &policy::Operators) -> Preflight {
        Preflight { worker: RolePreflight::new(extra(policy), &[]), ..Preflight::default() }
    }

    fn check_host(&self, host: &HostView<'_>) -> Outcome {
        let Some(inventory) = host.selection.inventory else {
            return Outcome::awaits_inventory("Missing inventory in the host");
        };
        let (has, needs) = (resources(inventory), self.requirements(host));
        let mut texts = Vec::new();
        if has.cpu_cores < needs.cpu_cores {
            texts.push(format!(
                "Insufficient CPU to deploy OpenShift AI, requires {} CPU cores but found {}",
                needs.cpu_cores, has.cpu_cores
            ));
        }
        if has.ram_mib < needs.ram_mib {
            texts.push(format!(
                "Insufficient memory to deploy OpenShift AI, requires {} GiB but found {} GiB",
                needs.ram_mib / 1024,
                has.ram_mib / 1024
            ));
        }
        if texts.is_empty() { Outcome::success("") } else { too_small(&texts, has, needs) }
    }

    fn check_cluster(&self, view: &ClusterView<'_>) -> Outcome {
        let workers = topology::count_role(&view.facts.hosts, HostRole::Worker);
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        let least = view.policy().openshift_ai_min_worker_nodes;
        if topology::is_single_node(view.cluster) || workers >= least {
            return Outcome::success("");
        }
        Outcome::failure(format!(
            "OpenShift AI requires at least {least} worker nodes, but the cluster has {workers}."
        ))
        .measured(format!("{workers} workers"))
        .required(format!("{least} workers"))
        .remedy("Add machines as workers, or install without this operator.")
    }

    /// The storage that one of the operators brings becomes the default.
    fn manifests(&self, view: &ClusterView<'_>) -> Vec<(&'static str, Value)> {
        let (operator, class) = if topology::is_single_node(view.cluster) {
            ("lvm", "lvms-vg1")
        } else {
            ("odf", "ocs-storagecluster-ceph-rbd")
        };
        if !is_selected(view.cluster, operator) {
            return Vec::new();
        }
        let setup = Setup {
            operator: OPERATOR.name,
            namespace: OPERATOR.namespace,
            rules: &[("storage.k8s.io", &["storageclasses"], &["get", "list", "patch", "update", "watch"])],
            script: format!("class={class}\n{}", include_str!("openshift-ai-setup.sh")),
        };
        setup.objects(view)
    }

    fn objects(&self, view: &ClusterView<'_>) -> Vec<Value> {
        let unless_single = if topology::is_single_node(view.cluster) { "Removed" } else { "Managed" };
        let state = |state: &str| json!({"managementState": state});
        let mut all = Vec::new();
        if is_selected(view.cluster, "amd-gpu") {
            all.push(hardware_profile("amd-gpu", "amd.com/gpu", "AMD GPU"));
        }
        all.push(json!({
            "apiVersion": "datasciencecluster.opendatahub.io/v1", "kind": "DataScienceCluster",
            "metadata": {"name": "default-dsc"},
            "spec": {"components": {
                "codeflare": state("Managed"), "dashboard": state("Managed"),
                "datasciencepipelines": state("Managed"), "kueue": state("Managed"),
                "modelmeshserving": state("Managed"), "ray": state("Managed"), "workbenches": state("Managed"),
                "trainingoperator": state("Removed"), "trustyai": state("Removed"),
                "kserve": {
                    "managementState": unless_single,
                    "serving": {
                        "managementState": "Managed", "name": "knative-serving",
                        "ingressGateway": {"certificate": {"type": "OpenshiftDefaultIngress"}},
                    },
                },
            }},
        }));
        all.push(json!({
            "apiVersion": "dscinitialization.opendatahub.io/v1", "kind": "DSCInitialization",
            "metadata": {"name": "default-dsci"},
            "spec": {
                "applicationsNamespace": APPLICATIONS,
                "monitoring": {"managementState": "Managed", "namespace": "redhat-ods-monitoring"},
                "serviceMesh": state(unless_single),
                "trustedCABundle": {"managementState": "Managed", "customCABundle": ""},
            },
        }));
        if is_selected(view.cluster, "nvidia-gpu") {
            all.push(hardware_profile("nvidia-gpu", "nvidia.com/gpu", "NVIDIA GPU"));
        }
        all
    }
}

/// How users ask for a GPU.
fn hardware_profile(name: &str, resource: &str, title: &str) -> Value {
    json!({
        "apiVersion": "infrastructure.opendatahub.io/v1alpha1", "kind": "HardwareProfile",
        "metadata": {"name": name, "namespace": APPLICATIONS},
        "spec": {
            "identifiers": [{
                "identifier": resource, "displayName": title, "resourceType": "Accelerator", "defaultCount": 1,
                "minCount": 0,
            }],
            "scheduling": {
                "type": "Node",
                "node": {"tolerations": [{"key": resource, "operator": "Exists", "effect": "NoSchedule"}]},
            },
        },
    })
}
