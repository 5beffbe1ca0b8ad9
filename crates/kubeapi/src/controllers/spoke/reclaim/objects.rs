//! What helps a node to boot the discovery image: an agent on that node, with what it needs (kube-api §6.4.3).

use assisted_core::model::host::HostKey;
use assisted_wire::id::InfraEnvId;
use assisted_wire::secret::Secret;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "assisted-installer";
pub(super) const ACCOUNT: &str = "node-reclaim";
pub(super) const CONFIG: &str = "reclaim-config";
const AUTHORITY: &str = "service-ca-cert.crt";
const AUTHORITIES: &str = "/etc/assisted-service";
const TOKEN: &str = "auth-token";

/// What the agent is told.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) host: HostKey,
    pub(super) node: String,
    pub(super) node_uid: String,
    /// Image of the agent.
    pub(super) image: String,
    pub(super) service_url: String,
    pub(super) insecure: bool,
    /// Token for the service; empty where it asks for none.
    pub(super) token: Secret,
    /// The authority behind the service's certificate, PEM; empty: one that everybody trusts.
    pub(super) authority: String,
}

pub(super) fn namespace() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
    })
}

pub(super) fn account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}})
}

pub(super) fn role() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": ACCOUNT, "namespace": NAMESPACE},
        "rules": [{
            "apiGroups": ["security.openshift.io"], "resources": ["securitycontextconstraints"],
            "resourceNames": ["privileged"], "verbs": ["use"],
        }],
    })
}

pub(super) fn role_binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": ACCOUNT, "namespace": NAMESPACE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    })
}

/// Name of the Secret with the token for an infra-env.
pub(super) fn secret_name(infra_env: InfraEnvId) -> String {
    format!("reclaim-{infra_env}-token")
}

pub(super) fn secret(wanted: &Wanted) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": secret_name(wanted.host.infra_env_id), "namespace": NAMESPACE},
        "data": {TOKEN: ByteString(wanted.token.expose().as_bytes().to_vec())},
    })
}

/// The ConfigMap with the authority, where there is one.
pub(super) fn config(wanted: &Wanted) -> Option<Value> {
    (!wanted.authority.is_empty()).then(|| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG, "namespace": NAMESPACE},
            "data": {AUTHORITY: wanted.authority},
        })
    })
}

/// Name of the DaemonSet of a node.
pub(super) fn daemon_set_name(node: &str) -> String {
    format!("{}-reclaim", node.replace('.', "-"))
}

/// The agent, on this one node; it goes with the node.
pub(super) fn daemon_set(wanted: &Wanted) -> Value {
    let name = daemon_set_name(&wanted.node);
    let mut args = vec![
        format!("-url={}", wanted.service_url),
        format!("-infra-env-id={}", wanted.host.infra_env_id),
        format!("-host-id={}", wanted.host.host_id),
        format!("-agent-version={}", wanted.image),
        format!("-insecure={}", wanted.insecure),
        "-with-journal-logging=false".to_owned(),
        "-with-stdout-logging=true".to_owned(),
    ];
    let mut mounts = vec![json!({"name": "host", "mountPath": "/host"})];
    let mut volumes = vec![json!({"name": "host", "hostPath": {"path": "/"}})];
    if !wanted.authority.is_empty() {
        args.push(format!("-cacert={AUTHORITIES}/{AUTHORITY}"));
        mounts.push(json!({"name": "service-ca-cert", "mountPath": AUTHORITIES}));
        volumes.push(json!({"name": "service-ca-cert", "configMap": {"name": CONFIG}}));
    }
    let key = json!({"name": secret_name(wanted.host.infra_env_id), "key": TOKEN});
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {
            "name": name, "namespace": NAMESPACE,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": wanted.node, "uid": wanted.node_uid}],
        },
        "spec": {
            "selector": {"matchLabels": {"name": name}},
            "template": {
                "metadata": {"labels": {"name": name}},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": wanted.node},
                    "tolerations": [{"operator": "Exists"}],
                    "priorityClassName": "system-node-critical",
                    "hostPID": true,
                    "serviceAccountName": ACCOUNT,
                    "containers": [{
                        "name": "agent", "image": wanted.image, "command": ["next_step_runner"], "args": args,
                        "env": [{"name": "PULL_SECRET_TOKEN", "valueFrom": {"secretKeyRef": key}}],
                        "securityContext": {"privileged": true, "runAsUser": 0},
                        "volumeMounts": mounts,
                    }],
                    "volumes": volumes,
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::HostId;

    use super::*;

    #[test]
    fn the_agent_runs_on_one_node_and_trusts_the_service() {
        let mut wanted = Wanted {
            host: HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() },
            insecure: false,
            token: Secret::default(),
            authority: String::new(),
            node: "worker-7.example.com".to_owned(),
            node_uid: "1".to_owned(),
            image: "agent:1".to_owned(),
            service_url: "https://service".to_owned(),
        };
        let plain = daemon_set(&wanted);
        assert_eq!(plain["metadata"]["name"], "worker-7-example-com-reclaim");
        let spec = &plain["spec"]["template"]["spec"];
        assert_eq!(spec["nodeSelector"]["kubernetes.io/hostname"], "worker-7.example.com");
        assert_eq!(spec["volumes"].as_array().unwrap().len(), 1);
        assert!(config(&wanted).is_none());
        wanted.authority = "PEM".to_owned();
        let args = daemon_set(&wanted)["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        assert!(
            args.as_array().unwrap().contains(&"-cacert=/etc/assisted-service/service-ca-cert.crt".into())
        );
        assert_eq!(config(&wanted).unwrap()["data"]["service-ca-cert.crt"], "PEM");
    }
}
