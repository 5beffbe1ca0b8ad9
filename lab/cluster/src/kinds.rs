//! What the cluster has beside Kubernetes' own: kinds of objects, namespaces, and who may do what. An operator of the
//! release would bring each of them.

use serde_json::{Value, json};

/// Group, version, kind, plural, whether it stands in a namespace.
const KINDS: &[(&str, &str, &str, &str, bool)] = &[
    ("config.openshift.io", "v1", "APIServer", "apiservers", false),
    ("config.openshift.io", "v1", "ClusterOperator", "clusteroperators", false),
    ("config.openshift.io", "v1", "ClusterVersion", "clusterversions", false),
    ("config.openshift.io", "v1", "DNS", "dnses", false),
    ("config.openshift.io", "v1", "ImageDigestMirrorSet", "imagedigestmirrorsets", false),
    ("config.openshift.io", "v1", "Infrastructure", "infrastructures", false),
    ("config.openshift.io", "v1", "Ingress", "ingresses", false),
    ("config.openshift.io", "v1", "Network", "networks", false),
    ("config.openshift.io", "v1", "Proxy", "proxies", false),
    ("config.openshift.io", "v1", "Scheduler", "schedulers", false),
    ("machine.openshift.io", "v1beta1", "Machine", "machines", true),
    ("machineconfiguration.openshift.io", "v1", "KubeletConfig", "kubeletconfigs", false),
    ("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs", false),
    ("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools", false),
    ("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts", true),
    ("metal3.io", "v1alpha1", "Provisioning", "provisionings", false),
    ("operators.coreos.com", "v1", "OperatorGroup", "operatorgroups", true),
    ("operators.coreos.com", "v1alpha1", "CatalogSource", "catalogsources", true),
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "clusterserviceversions", true),
    ("operators.coreos.com", "v1alpha1", "InstallPlan", "installplans", true),
    ("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions", true),
    ("route.openshift.io", "v1", "Route", "routes", true),
];

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
pub const BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
pub const BOOTSTRAPPER_GROUPS: &[&str] =
    &["system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"];
/// As whom the API speaks to nodes.
pub const API_CLIENT: &str = "system:kube-apiserver";

/// All kinds.
pub fn definitions() -> impl Iterator<Item = Value> {
    KINDS.iter().map(|(group, version, kind, plural, namespaced)| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        // What somebody writes a status of must do so in the right place.
        let subresources = if *kind == "BareMetalHost" { json!({"status": {}}) } else { json!({}) };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "scope": if *namespaced { "Namespaced" } else { "Cluster" },
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": version, "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema}, "subresources": subresources,
                }],
            },
        })
    })
}

/// What stands in the cluster before the manifests of its installer.
pub fn foundation() -> impl Iterator<Item = Value> {
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
