//! What operators ask of a cluster, in the words of the reference.

use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::host::HostRole::{self, Arbiter, Master, Worker};
use assisted_wire::inventory::Gpu;

use super::*;
use crate::catalogue::operators::{OPERATORS, find};

fn of_version(facts: Facts, version: &str) -> Facts {
    facts.with_cluster(|cluster| version.clone_into(&mut cluster.openshift_version))
}

#[test]
pub(super) fn versions() {
    for (name, old, new, text) in [
        (
            "nmstate",
            "4.11.9",
            "4.12.0-rc.1",
            "Kubernetes NMState Operator is only supported for openshift versions 4.12.0 and above",
        ),
        (
            "mtv",
            "4.13.9",
            "4.14.0-rc.1",
            "OpenShift Migration Toolkit for Virtualization is only supported for openshift versions 4.14.0 and above",
        ),
        (
            "osc",
            "4.9.9",
            "4.10.0-rc.1",
            "OpenShift sandboxed containers is only supported for openshift versions 4.10.0 and above",
        ),
        (
            "loki",
            "4.16.9",
            "4.17.0-rc.1",
            "Loki Operator is only supported for OpenShift versions 4.17.0 and above",
        ),
        (
            "openshift-logging",
            "4.16.9",
            "4.17.0-rc.1",
            "OpenShift Logging Operator is only supported for OpenShift versions 4.17.0 and above",
        ),
        (
            "mce",
            "4.10.0-rc.1",
            "4.10.0",
            "multicluster engine is only supported for openshift versions 4.10.0 and above",
        ),
    ] {
        let id = find(name).unwrap().cluster;
        let chosen = || facts(0).with_operators(&[name]);
        failure(&of_version(chosen(), old), id, text);
        success(&of_version(chosen(), new), id, "");
    }
}

#[test]
pub(super) fn architectures() {
    for name in ["cnv", "mtv", "osc", "nmstate"] {
        let operator = find(name).unwrap();
        let on = |architecture| {
            of_version(facts(0).with_operators(&[name]), "4.20.1")
                .with_cluster(|cluster| cluster.cpu_architecture = Some(architecture))
        };
        success(&on(CpuArchitecture::X8664), operator.cluster, "");
        let text = format!("{} is not supported for s390x CPU architecture.", operator.full_name);
        failure(&on(CpuArchitecture::S390x), operator.cluster, &text);
    }
}

#[test]
pub(super) fn gpus() {
    for (name, vendor, title) in [("nvidia-gpu", "10de", "NVIDIA"), ("amd-gpu", "1002", "AMD")] {
        let id = find(name).unwrap().cluster;
        let text = format!(
            "The {title} GPU operator requires at least one supported {title} GPU, but there is none in the discovered hosts."
        );
        let with_gpu = |roles: &[HostRole], on: usize| {
            let mut facts =
                facts(roles.len()).with_inventory(&inventory()).with_operators(&[name]).with_roles(roles);
            let gpu = Gpu { vendor_id: vendor.to_uppercase(), ..Gpu::default() };
            let machine = inventory().with(|inventory| inventory.gpus = Some(vec![gpu])).build();
            facts.hosts[on].inventory = Some(Arc::new(machine));
            facts
        };
        failure(&facts(1).with_operators(&[name]), id, &text);
        let five = [Master, Master, Master, Worker, Worker];
        success(&with_gpu(&five, 4), id, "");
        failure(&with_gpu(&five, 0), id, &text);
        success(&with_gpu(&five, 0).with_cluster(|cluster| cluster.schedulable_masters = true), id, "");
        success(&with_gpu(&[Master, Master, Master], 0), id, "");
        failure(&with_gpu(&[Arbiter, Master, Master], 0), id, &text);
        let mut policy = Policy::default();
        (policy.operators.nvidia_require_gpu, policy.operators.amd_require_gpu) = (false, false);
        success(&Facts { policy: policy.into(), ..facts(1).with_operators(&[name]) }, id, "");
    }
}

#[test]
pub(super) fn openshift_ai() {
    let id = OpenshiftAiRequirementsSatisfied;
    let ai = |roles: &[HostRole]| facts(roles.len()).with_operators(&["openshift-ai"]).with_roles(roles);
    success(&ai(&[Master, Worker, Worker]), id, "");
    failure(
        &ai(&[Master, Worker]),
        id,
        "OpenShift AI requires at least 2 worker nodes, but the cluster has 1.",
    );
    success(&single_node(ai(&[Master])), id, "");
    let gpu = OpenshiftAiGpuRequirementsSatisfied;
    success(&facts(0), gpu, "openshift-ai is disabled");
    success(&ai(&[]), gpu, "No GPU vendor selected - OpenShift AI will be installed without GPU support");
    success(&facts(0).with_operators(&["openshift-ai", "amd-gpu"]), gpu, "");
    let day2 =
        ai(&[]).with_cluster(|cluster| cluster.kind = assisted_wire::cluster::ClusterKind::AddHostsCluster);
    success(&day2, gpu, "openshift-ai validation is disabled when adding hosts to an existing cluster.");
}

#[test]
pub(super) fn the_others_ask_nothing() {
    let asking = ["odf", "lvm", "openshift-ai", "nvidia-gpu", "amd-gpu"];
    for operator in OPERATORS.iter().filter(|each| each.is_published() && !asking.contains(&each.name)) {
        success(&of_version(facts(0).with_operators(&[operator.name]), "4.20.1"), operator.cluster, "");
    }
}
