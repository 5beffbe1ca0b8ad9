//! The node as an object: it is there, it has addresses, and it lives.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::{info, warn};

use super::{Node, POLL_INTERVAL};
use crate::files;
use crate::kube_api::MANAGER;
use crate::machine_config::ANNOTATIONS;
use crate::os_image;

/// The variables of a kubelet's unit that the machine was told.
const KUBELET_VARIABLES: &str = "/etc/kubernetes/kubelet-env";
const LEASES: &str = "kube-node-lease";
/// Between two renewals of the lease.
const RENEWAL: Duration = Duration::from_secs(4);
/// Renewals of the lease between two reports of the state.
const RENEWALS: u32 = 6;

/// Makes the node's object, unless it is there.
pub async fn register(node: &Node, kube: &Client) {
    loop {
        match try_register(node, kube).await {
            Ok(()) => return info!(node = node.name, "registered"),
            Err(error) => warn!(error = format!("{error:#}"), "not registered yet"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn try_register(node: &Node, kube: &Client) -> Result<()> {
    let mut labels = json!({
        "kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux",
        "kubernetes.io/arch": if cfg!(target_arch = "x86_64") { "amd64" } else { std::env::consts::ARCH },
        "node.openshift.io/os_id": "lab",
    });
    labels[format!("node-role.kubernetes.io/{}", node.cluster.role)] = json!("");
    if node.is_master() {
        labels["node-role.kubernetes.io/control-plane"] = json!("");
    }
    for (name, value) in own_labels(&files::text(KUBELET_VARIABLES).unwrap_or_default()) {
        labels[name] = json!(value);
    }
    // Control-plane hosts take other pods only where there are no workers.
    let taint = node.has_etcd() && node.cluster.workers > 1;
    let role = &node.cluster.role;
    let taints = match taint {
        true => json!([{"key": format!("node-role.kubernetes.io/{role}"), "effect": "NoSchedule"}]),
        false => json!([]),
    };
    let told = files::read(Path::new(ANNOTATIONS)).ok();
    let mut annotations: Value =
        told.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_else(|| json!({}));
    if let Some(image) = booted() {
        annotations[os_image::BOOTED] = image.into();
    }
    let object: core::Node = serde_json::from_value(json!({
        "metadata": {"name": node.name, "labels": labels, "annotations": annotations},
        "spec": {"taints": taints},
    }))?;
    match Api::all(kube.clone()).create(&PostParams::default(), &object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => Ok(made.map(drop)?),
    }
}

/// The labels that a kubelet is told beside those of its role, from the variables of its unit.
fn own_labels(variables: &str) -> Vec<(&str, &str)> {
    let told = variables.lines().rev().find_map(|line| line.strip_prefix("CUSTOM_KUBELET_LABELS="));
    let told = told.unwrap_or_default().trim_matches(['"', '\'']);
    told.split(',').filter_map(|label| label.split_once('=')).collect()
}

/// The image that this machine has started from, where it did from one.
fn booted() -> Option<String> {
    let origin = origin(Path::new("/sysroot"), &files::text("/proc/cmdline").ok()?)?;
    let line = origin.lines().find_map(|line| line.strip_prefix("container-image-reference="))?;
    line.strip_prefix("ostree-unverified-registry:").map(str::to_owned)
}

/// Where the deployment that a kernel was started with has come from, as ostree keeps it beside the deployment.
fn origin(sysroot: &Path, command_line: &str) -> Option<String> {
    let target = command_line.split_whitespace().find_map(|word| word.strip_prefix("ostree=/"))?;
    let deployment = std::fs::canonicalize(sysroot.join(target)).ok()?;
    let mut name = deployment.file_name()?.to_owned();
    name.push(".origin");
    files::text(deployment.with_file_name(name)).ok()
}

/// Says again and again that the node lives.
pub async fn keep(node: &Node, kube: &Client) {
    let mut looks = 0;
    loop {
        let told = async {
            if looks % RENEWALS == 0 {
                report(node, kube).await?;
            }
            renew(node, kube).await
        };
        match told.await {
            Ok(()) => looks += 1,
            Err(error) => warn!(error = format!("{error:#}"), "can't say that this node lives"),
        }
        sleep(RENEWAL).await;
    }
}

async fn report(node: &Node, kube: &Client) -> Result<()> {
    let now = Timestamp::now().to_string();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": "", "lastHeartbeatTime": now,
        })
    };
    let resources = json!({"cpu": "4", "memory": "4Gi", "pods": "50"});
    let status = json!({"status": {
        "addresses": [
            {"type": "InternalIP", "address": node.address}, {"type": "Hostname", "address": node.name},
        ],
        "conditions": [
            condition("Ready", "True", "KubeletReady"),
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        ],
        "capacity": resources, "allocatable": resources,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": super::kubelet::PORT}},
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "osImage": "Lab",
            "kernelVersion": kernel(), "kubeletVersion": KUBELET, "containerRuntimeVersion": "podman://lab",
            "kubeProxyVersion": "", "machineID": machine(), "systemUUID": "", "bootID": boot(),
        },
    }});
    let nodes = Api::<core::Node>::all(kube.clone());
    nodes.patch_status(&node.name, &PatchParams::default(), &Patch::Strategic(status)).await?;
    Ok(())
}

/// The version of Kubernetes in lab releases.
const KUBELET: &str = "v1.34.4";

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn boot() -> String {
    files::text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn machine() -> String {
    files::text("/etc/machine-id").unwrap_or_default().trim().to_owned()
}

async fn renew(node: &Node, kube: &Client) -> Result<()> {
    let leases = Api::<Lease>::namespaced(kube.clone(), LEASES);
    let now = Timestamp::now();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": node.name},
        "spec": {"holderIdentity": node.name, "leaseDurationSeconds": 40, "renewTime": format!("{now:.6}")},
    });
    leases.patch(&node.name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(lease)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_deployment_has_come_from() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["ostree/boot.1.1/rhcos/00", "ostree/deploy/rhcos/deploy/11.0"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        symlink("boot.1.1", at("ostree/boot.1")).unwrap();
        symlink("../../../deploy/rhcos/deploy/11.0", at("ostree/boot.1.1/rhcos/00/0")).unwrap();
        files::write(at("ostree/deploy/rhcos/deploy/11.0.origin"), 0o644, "[origin]\n").unwrap();
        let line = "ignition.platform.id=metal ostree=/ostree/boot.1/rhcos/00/0 root=LABEL=root";
        assert_eq!(origin(dir.path(), line).as_deref(), Some("[origin]\n"));
        assert_eq!(origin(dir.path(), "root=LABEL=root"), None);
        assert_eq!(origin(dir.path(), "ostree=/ostree/boot.0/rhcos/00/0"), None);
    }

    #[test]
    fn labels_that_a_node_is_told() {
        let told = "A=b\nCUSTOM_KUBELET_LABELS=metal3.io/uuid=1-2,b=\nKUBELET_PROVIDERID=x\n";
        assert_eq!(own_labels(told), [("metal3.io/uuid", "1-2"), ("b", "")]);
        assert!(own_labels("").is_empty() && own_labels("CUSTOM_KUBELET_LABELS=\n").is_empty());
    }
}
