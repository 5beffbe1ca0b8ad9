//! What the cluster needs to run the controller, laid where the temporary control plane takes manifests from
//! (installer-and-controller §B2).

use serde_json::{Value, json};

use crate::config::Config;
use crate::host::{FileError, Host, RunError};
use crate::kube::NAMESPACE;

/// Where the temporary control plane works.
const DIR: &str = "/opt/openshift";
const NAME: &str = "assisted-installer-controller";
/// Name of the service for a controller that gets its addresses.
const SERVICE_NAME: &str = "assisted-api.local.openshift.io";
const TOKEN_DIR: &str = "/etc/assisted-installer-controller";

/// Why a manifest isn't there.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("a manifest can't be written: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
}

pub(super) fn write(config: &Config, host: &Host) -> Result<(), ManifestError> {
    for (file, object) in all(config) {
        let path = format!("{DIR}/manifests/{file}");
        // One of them holds the token.
        host.write(&path, 0o600, serde_yaml_ng::to_string(&object)?)?;
    }
    Ok(())
}

/// Each manifest under the name of its file.
fn all(config: &Config) -> [(&'static str, Value); 8] {
    [
        ("assisted-installer-controller-namespace.yaml", namespace()),
        ("assisted-installer-controller-cm.yaml", settings(config)),
        ("assisted-installer-controller-secret.yaml", secret(config)),
        ("assisted-installer-controller-sa.yaml", named("v1", "ServiceAccount", json!({}))),
        ("assisted-installer-controller-role.yaml", role()),
        ("assisted-installer-controller-binding.yaml", binding()),
        ("assisted-installer-network-policy.yaml", network_policy()),
        ("assisted-installer-controller-pod.yaml", job(config)),
    ]
}

/// An object of the controller's namespace under its name.
fn named(api: &str, kind: &str, more: Value) -> Value {
    let mut object = json!({
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": {"app": NAME}},
    });
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}

fn namespace() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "labels": {
                "name": NAMESPACE,
                "security.openshift.io/scc.podSecurityLabelSync": "false",
                "pod-security.kubernetes.io/enforce": "privileged",
                "pod-security.kubernetes.io/audit": "privileged",
                "pod-security.kubernetes.io/warn": "privileged",
            },
        },
    })
}

fn settings(config: &Config) -> Value {
    let ca = config.ca_file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let mut settings = named(
        "v1",
        "ConfigMap",
        json!({"data": {
            "cluster-id": config.cluster_id.to_string(),
            "inventory-url": config.url,
            "skip-cert-verification": config.insecure.to_string(),
            "ca-cert-path": ca,
            "check-cluster-version": config.check_cluster_version.to_string(),
            "control-plane-count": config.control_plane_count.to_string(),
            "must-gather-image": config.must_gather_image,
            "approve-all-csrs": config.approve_all_csrs.to_string(),
        }}),
    );
    settings["metadata"]["name"] = json!("assisted-installer-controller-config");
    settings
}

fn secret(config: &Config) -> Value {
    let data = json!({"pull-secret-token": config.token.expose()});
    let mut secret = named("v1", "Secret", json!({"type": "Opaque", "stringData": data}));
    secret["metadata"]["name"] = json!("assisted-installer-controller-secret");
    secret
}

fn binding() -> Value {
    let mut binding = named(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
        }),
    );
    clusterwide(&mut binding);
    binding
}

fn clusterwide(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
}

/// Nobody has to reach into the namespace; the controller is on the host's network.
fn network_policy() -> Value {
    let policy = json!({"podSelector": {}, "policyTypes": ["Ingress"]});
    let mut policy = named("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": policy}));
    policy["metadata"]["name"] = json!("assisted-installer-network-policy");
    policy
}

/// Groups, resources and verbs of the controller's rights, each separated by blanks; the group of the core is `""`.
const RIGHTS: &[(&str, &str, &str)] = &[
    ("\"\"", "pods configmaps pods/log", "get list watch"),
    ("\"\"", "nodes", "get list watch patch"),
    ("\"\"", "events", "create"),
    ("\"\"", "namespaces", "patch"),
    ("\"\"", "services", "list delete"),
    ("\"\"", "pods", "deletecollection"),
    ("certificates.k8s.io", "certificatesigningrequests", "get list watch"),
    ("certificates.k8s.io", "certificatesigningrequests/approval", "update"),
    ("batch", "jobs", "get list delete"),
    ("authentication.k8s.io", "tokenreviews", "create"),
    ("authorization.k8s.io", "subjectaccessreviews", "create"),
    ("config.openshift.io", "clusteroperators", "get create list watch"),
    ("config.openshift.io", "proxies", "get list"),
    ("config.openshift.io", "clusterversions", "get list"),
    ("operator.openshift.io", "etcds ingresscontrollers", "patch"),
    ("metal3.io", "baremetalhosts", "get list watch update patch"),
    ("metal3.io", "baremetalhosts/status", "get patch update"),
    ("metal3.io", "provisionings", "get list"),
    ("machine.openshift.io", "machines", "get list watch"),
    ("machineconfiguration.openshift.io", "*", "get patch"),
    ("operators.coreos.com", "clusterserviceversions", "get list"),
    ("operators.coreos.com", "subscriptions installplans", "get list update delete"),
];

/// The same, for named resources.
const NAMED_RIGHTS: &[(&str, &str, &str, &str)] = &[
    (
        "certificates.k8s.io",
        "signers",
        "kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving",
        "approve",
    ),
    ("config.openshift.io", "clusteroperators/status", "machine-approver", "update"),
    (
        "security.openshift.io",
        "securitycontextconstraints",
        "anyuid nonroot hostmount-anyuid machine-api-termination-handler hostnetwork hostaccess node-exporter",
        "use",
    ),
    // What says the same as the operator's own once it has taken images over.
    (
        "machineconfiguration.openshift.io",
        "machineconfigs",
        "09-ocl-osimageurl-master 09-ocl-osimageurl-worker",
        "delete",
    ),
];

fn role() -> Value {
    let words =
        |text: &str| text.split(' ').map(|word| word.trim_matches('"').to_owned()).collect::<Vec<_>>();
    let rule = |group: &str, resources: &str, verbs: &str| json!({"apiGroups": words(group), "resources": words(resources), "verbs": words(verbs)});
    let rules = RIGHTS.iter().map(|(group, resources, verbs)| rule(group, resources, verbs));
    let named_rules = NAMED_RIGHTS.iter().map(|(group, resources, names, verbs)| {
        let mut rule = rule(group, resources, verbs);
        rule["resourceNames"] = json!(words(names));
        rule
    });
    let rules: Vec<_> = rules.chain(named_rules).collect();
    let mut role = named("rbac.authorization.k8s.io/v1", "ClusterRole", json!({"rules": rules}));
    clusterwide(&mut role);
    role
}

fn job(config: &Config) -> Value {
    let single = config.is_single_node();
    let mut tolerations = vec!["node-role.kubernetes.io/master"];
    if single {
        tolerations.extend(["node.kubernetes.io/not-ready", "node.kubernetes.io/network-unavailable"]);
    }
    let tolerations: Vec<_> = tolerations
        .into_iter()
        .map(|key| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}))
        .collect();
    let ca = config.ca_file.as_ref().map(|path| path.display().to_string());
    let mut paths = vec![
        ("host-pki", "/etc/pki".to_owned(), "/etc/pki".to_owned()),
        (
            "host-run-resolv",
            "/var/run/NetworkManager/resolv.conf".to_owned(),
            "/tmp/var-run-resolv.conf".to_owned(),
        ),
        ("host-resolv", "/etc/resolv.conf".to_owned(), "/tmp/host-resolv.conf".to_owned()),
    ];
    paths.extend(ca.map(|path| ("service-ca-cert", path.clone(), path)));
    if single {
        let secrets = "/etc/kubernetes/bootstrap-secrets".to_owned();
        paths.push(("bootstrap-secrets", secrets, "/tmp/bootstrap-secrets".to_owned()));
    }
    let mut volumes: Vec<_> =
        paths.iter().map(|(name, host, _)| json!({"name": name, "hostPath": {"path": host}})).collect();
    let mut mounts: Vec<_> =
        paths.iter().map(|(name, _, inside)| json!({"name": name, "mountPath": inside})).collect();
    volumes.push(json!({"name": "token", "secret": {
        "secretName": "assisted-installer-controller-secret",
        "items": [{"key": "pull-secret-token", "path": "token", "mode": 0o400}],
    }}));
    mounts.push(json!({"name": "token", "mountPath": TOKEN_DIR, "readOnly": true}));
    let mut pod = json!({
        "restartPolicy": "OnFailure",
        "hostNetwork": true,
        "nodeSelector": {"node-role.kubernetes.io/master": ""},
        "serviceAccountName": NAME,
        "tolerations": tolerations,
        "containers": [{
            "name": NAME,
            "image": config.controller_image,
            "imagePullPolicy": "IfNotPresent",
            "env": environment(config),
            "volumeMounts": mounts,
        }],
        "volumes": volumes,
    });
    if !config.service_ips.is_empty() {
        let alias = |ip| json!({"ip": ip, "hostnames": [SERVICE_NAME]});
        pod["hostAliases"] = config.service_ips.iter().map(alias).collect();
    }
    let template = json!({"metadata": {"labels": {"app": NAME}}, "spec": pod});
    named("batch/v1", "Job", json!({"spec": {"backoffLimit": 100, "template": template}}))
}

/// The controller's variables, most of them from its config map.
fn environment(config: &Config) -> Vec<Value> {
    let mapped = [
        ("CLUSTER_ID", "cluster-id", false),
        ("INVENTORY_URL", "inventory-url", false),
        ("SKIP_CERT_VERIFICATION", "skip-cert-verification", true),
        ("CA_CERT_PATH", "ca-cert-path", true),
        ("CHECK_CLUSTER_VERSION", "check-cluster-version", true),
        ("CONTROL_PLANE_COUNT", "control-plane-count", true),
        ("MUST_GATHER_IMAGE", "must-gather-image", true),
        ("APPROVE_ALL_CSRS", "approve-all-csrs", true),
    ];
    let mapped = mapped.into_iter().map(|(name, key, optional)| {
        let source =
            json!({"name": "assisted-installer-controller-config", "key": key, "optional": optional});
        json!({"name": name, "valueFrom": {"configMapKeyRef": source}})
    });
    let told = [
        ("OPENSHIFT_VERSION", config.openshift_version.clone()),
        ("NOTIFY_NUM_REBOOTS", config.notify_num_reboots.to_string()),
    ];
    mapped.chain(told.into_iter().map(|(name, value)| json!({"name": name, "value": value}))).collect()
}
