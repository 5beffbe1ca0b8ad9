//! What stands in the cluster before the manifests of its installer: namespaces, accounts, pools, and who may do what. An
//! operator of the release would bring each of them. The kinds of objects are those of [`assisted_lab_kinds`].

use serde_json::{Value, json};

const NAMESPACES: &[&str] = &[
    "openshift-config",
    "openshift-config-managed",
    "openshift-console",
    "openshift-dns",
    "openshift-dns-operator",
    "openshift-etcd",
    "openshift-machine-api",
    MACHINE_CONFIG_NAMESPACE,
    "openshift-marketplace",
    "openshift-monitoring",
];

pub const MACHINE_CONFIG_NAMESPACE: &str = "openshift-machine-config-operator";
/// The label of a MachineConfig with the pool that it is for.
pub const ROLE: &str = "machineconfiguration.openshift.io/role";
pub const BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
pub const BOOTSTRAPPER_GROUPS: &[&str] =
    &["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"];
/// As whom the API speaks to nodes.
pub const API_CLIENT: &str = "system:kube-apiserver";

/// All of it.
pub fn objects() -> impl Iterator<Item = Value> {
    let namespaces = NAMESPACES.iter().map(|name| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {
            "pod-security.kubernetes.io/enforce": "privileged",
        }}})
    });
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "node-bootstrapper", "namespace": MACHINE_CONFIG_NAMESPACE},
    });
    let pools = ["master", "worker"].map(|role| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": role},
            "spec": {"paused": false, "machineConfigSelector": {"matchLabels": {
                "machineconfiguration.openshift.io/role": role,
            }}},
        })
    });
    namespaces.chain([account]).chain(rights()).chain(pools)
}

/// Nodes ask for certificates; the API reads the logs of their pods.
fn rights() -> impl Iterator<Item = Value> {
    let group = "rbac.authorization.k8s.io";
    let bind = move |name: &str, role: &str, kind: &str, subject: &str| {
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": kind, "name": subject}],
        })
    };
    [
        bind("system-bootstrap-node-bootstrapper", "system:node-bootstrapper", "User", BOOTSTRAPPER),
        bind("kube-apiserver-kubelet-admin", "system:kubelet-api-admin", "User", API_CLIENT),
    ]
    .into_iter()
}
