//! The objects by which the image of workers is built on a control plane node (ocl-day1 §B7.1). All of them hang on the ConfigMap that the
//! installation came with, so that they go with it.

use std::collections::BTreeMap;

use assisted_ocl::config::Config;
use assisted_ocl::paths::{
    CLUSTER_CONFIG, CLUSTER_CONFIG_IMAGE, CLUSTER_CONFIG_TEXT, EXTRA_INPUTS, NAMESPACE,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use serde_json::{Value, json};

/// The Job that builds, its account, and the Secret with what it needs.
pub(super) const NAME: &str = "ocl-build-worker";
/// The ConfigMap in which the builder tells how far it is.
pub(super) const STATUS: &str = "ocl-build-worker-status";
/// What privileged pods may run by.
const PRIVILEGED: &str = "system:openshift:scc:privileged";
const PROGRAM: &str = "/usr/bin/assisted-host";
const CONTAINER: &str = "builder";
/// Where a pod has what it is given, and its account.
const GIVEN: &str = "/ocl";
const ACCOUNT: &str = "/ocl-account";
/// A builder that was killed goes on so often; one that says why it has failed does not.
const RETRIES: u32 = 6;
/// The exit status of a builder that has failed for good.
const FAILED: i32 = 1;
/// What a Job may take beside the build's own time, in seconds: its image has to come, and the builder tells by itself that it is late.
const SLACK: u64 = 15 * 60;
/// What a registry may take to get an image, in seconds.
const REPLICA: u64 = 2 * 3_600;
/// How long a builder has to give the room back, in seconds.
const GRACE: u64 = 120;

/// What the installation came with.
#[derive(Debug)]
pub(super) struct Given {
    /// The image with the builder.
    pub(super) image: String,
    pub(super) text: String,
    pub(super) config: Config,
    uid: String,
}

impl Given {
    /// Reads the ConfigMap; the error is a sentence.
    pub(super) fn read(map: &ConfigMap) -> Result<Self, String> {
        let data = |key: &str| {
            let text = map.data.as_ref().and_then(|data| data.get(key)).filter(|text| !text.is_empty());
            text.cloned().ok_or_else(|| format!("ConfigMap {CLUSTER_CONFIG} has no {key}"))
        };
        let text = data(CLUSTER_CONFIG_TEXT)?;
        let config = Config::read(text.as_bytes()).map_err(|error| error.to_string())?;
        let uid = map.uid().unwrap_or_default();
        Ok(Self { image: data(CLUSTER_CONFIG_IMAGE)?, text, config, uid })
    }

    fn metadata(&self, name: &str) -> Value {
        json!({
            "name": name, "namespace": NAMESPACE, "labels": {"app": NAME},
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": CLUSTER_CONFIG, "uid": self.uid,
            }],
        })
    }

    /// The account of the pods, which may tell how far the build is and nothing else; that it may be privileged is OpenShift's own role.
    pub(super) fn access(&self) -> [Value; 5] {
        let group = "rbac.authorization.k8s.io";
        let subject = json!({"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE});
        let bind = |name: &str, kind: &str, role: &str| {
            json!({
                "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": self.metadata(name),
                "roleRef": {"apiGroup": group, "kind": kind, "name": role}, "subjects": [subject],
            })
        };
        [
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata(NAME),
                "automountServiceAccountToken": false,
            }),
            json!({
                "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": self.metadata(NAME),
                "rules": [{
                    "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [STATUS],
                    "verbs": ["get", "patch"],
                }],
            }),
            bind(NAME, "Role", NAME),
            bind(&format!("{NAME}-privileged"), "ClusterRole", PRIVILEGED),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(STATUS)}),
        ]
    }

    /// A Secret with files for the build.
    pub(super) fn secret(&self, name: &str, files: BTreeMap<String, Vec<u8>>) -> Secret {
        let metadata = serde_json::from_value(self.metadata(name)).unwrap_or_default();
        let data = files.into_iter().map(|(name, bytes)| (name, ByteString(bytes))).collect();
        Secret { metadata, data: Some(data), ..Secret::default() }
    }

    /// The Job that builds on a node.
    pub(super) fn build_job(&self, node: &str) -> Value {
        let to = ["--account", ACCOUNT, "--namespace", NAMESPACE, "--config-map", STATUS];
        let args = [&["ocl", "node-build", "--given", GIVEN][..], &to].concat();
        self.job(NAME, node, self.config.build_timeout_seconds + SLACK, &args)
    }

    /// The Job that has a node's registry get the image.
    pub(super) fn replica_job(&self, name: &str, node: &str, image: &str) -> Value {
        self.job(name, node, REPLICA, &["ocl", "replicate", "--given", GIVEN, "--image", image])
    }

    fn job(&self, name: &str, node: &str, deadline: u64, args: &[&str]) -> Value {
        let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
        let mut volume = |name: &str, path: String, source: (&str, Value)| {
            volumes.push(json!({"name": name, (source.0): source.1}));
            mounts.push(json!({"name": name, "mountPath": path, "readOnly": true}));
        };
        let secret = |name: &str, optional: bool| {
            ("secret", json!({"secretName": name, "optional": optional, "defaultMode": 0o400}))
        };
        volume("input", format!("{GIVEN}/input"), secret(NAME, false));
        for folder in EXTRA_INPUTS {
            volume(folder, format!("{GIVEN}/extra/{folder}"), secret(&extra(folder), true));
        }
        // Not where accounts usually are: this one is for no other program of the machine.
        let account = json!({"sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3_600}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ]});
        volume("account", ACCOUNT.to_owned(), ("projected", account));
        let pod = json!({
            "nodeName": node,
            "serviceAccountName": NAME,
            "automountServiceAccountToken": false,
            "priorityClassName": "system-node-critical",
            "tolerations": [{"operator": "Exists"}],
            "hostNetwork": true,
            "hostPID": true,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE,
            "containers": [{
                "name": CONTAINER,
                "image": self.image,
                "imagePullPolicy": "IfNotPresent",
                "command": [PROGRAM],
                "args": args,
                "securityContext": {"privileged": true, "runAsUser": 0},
                "volumeMounts": mounts,
            }],
            "volumes": volumes,
        });
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": self.metadata(name),
            "spec": {
                "backoffLimit": RETRIES,
                "activeDeadlineSeconds": deadline,
                // Never two builders at once.
                "podReplacementPolicy": "Failed",
                "podFailurePolicy": {"rules": [
                    {"action": "FailJob", "onExitCodes": {
                        "containerName": CONTAINER, "operator": "In", "values": [FAILED],
                    }},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]},
                "template": {"metadata": {"labels": {"app": NAME}}, "spec": pod},
            },
        })
    }
}

/// The Secret with the files of one of [`EXTRA_INPUTS`].
pub(super) fn extra(folder: &str) -> String {
    format!("{NAME}-{folder}")
}

/// The Job of a node's registry, by the node's id: names of nodes can be too long.
pub(super) fn replica_name(uid: &str) -> String {
    format!("ocl-replicate-{uid}")
}

#[cfg(test)]
pub(super) mod tests {
    use k8s_openapi::api::batch::v1::Job;

    use super::*;

    pub(in crate::layering::build) fn given() -> Given {
        let config = json!({
            "version": 1, "cluster_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2d", "cluster": "c", "domain": "d.example.com",
            "release_version": "4.21.3", "arch": "x86_64", "control_plane_count": 3,
            "registry": {"type": "Embedded", "host": "api-int.c.d.example.com", "port": 22626, "namespace": "ocl"},
            "bootstrap_ip": "192.168.10.11", "master_ips": ["192.168.10.11"], "vips": [],
            "images": {"mco": "quay.io/mco:1", "docker_registry": "quay.io/registry:1"},
            "pools": [
                {"name": "master", "mosc": "mosc-master.yaml", "location": "bootstrap"},
                {"name": "worker", "mosc": "mosc-worker.yaml", "location": "control-plane"},
            ],
            "bake_configs": true, "scratch": "Auto", "build_timeout_seconds": 5400, "attempts": 4,
            "proxy": {"http": "", "https": "", "no": ""},
            "service": {
                "url": "https://assisted.example.com", "infra_env_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2e",
                "host_id": "6a7ff1c5-4f2c-4b5c-8c9d-0e3c9c0a1b2f",
            },
        });
        let map = json!({
            "metadata": {"name": CLUSTER_CONFIG, "uid": "u"},
            "data": {"config.json": config.to_string(), "image": "quay.io/installer:1"},
        });
        Given::read(&serde_json::from_value(map).unwrap()).unwrap()
    }

    #[test]
    fn the_job_builds_on_its_node_and_nowhere_else() {
        let made = given().build_job("m-1");
        let job: Job = serde_json::from_value(made.clone()).unwrap();
        let metadata = &job.metadata;
        let owner = &metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("ConfigMap", "u"));
        let spec = job.spec.unwrap();
        assert_eq!((spec.backoff_limit, spec.active_deadline_seconds), (Some(6), Some(5400 + 900)));
        assert_eq!(spec.pod_replacement_policy.as_deref(), Some("Failed"));
        let rules = spec.pod_failure_policy.unwrap().rules;
        assert_eq!(rules[0].action, "FailJob");
        assert_eq!(rules[0].on_exit_codes.as_ref().unwrap().values, [1]);
        assert_eq!(rules[1].action, "Ignore");
        let pod = spec.template.spec.unwrap();
        assert_eq!(pod.node_name.as_deref(), Some("m-1"));
        assert_eq!(pod.restart_policy.as_deref(), Some("Never"));
        assert_eq!((pod.host_network, pod.host_pid), (Some(true), Some(true)));
        assert_eq!(pod.priority_class_name.as_deref(), Some("system-node-critical"));
        let tolerations = pod.tolerations.unwrap();
        assert!(tolerations.len() == 1 && tolerations[0].key.is_none(), "it bears every taint");
        let [container] = &pod.containers[..] else { panic!("{made}") };
        assert_eq!(container.image.as_deref(), Some("quay.io/installer:1"));
        assert_eq!(container.args.as_ref().unwrap()[..4], ["ocl", "node-build", "--given", "/ocl"]);
        let mounted: Vec<_> =
            container.volume_mounts.iter().flatten().map(|mount| mount.mount_path.as_str()).collect();
        assert_eq!(
            mounted,
            [
                "/ocl/input",
                "/ocl/extra/etc-pki-entitlement",
                "/ocl/extra/etc-pki-rpm-gpg",
                "/ocl/extra/etc-yum-repos-d",
                "/ocl-account",
            ]
        );
        // No credential stands in the Job.
        assert!(!made.to_string().contains("auth\""), "{made}");
    }

    #[test]
    fn the_account_may_tell_and_nothing_else() {
        let made = given().access();
        let role = made.iter().find(|object| object["kind"] == "Role").unwrap();
        assert_eq!(role["rules"].as_array().unwrap().len(), 1);
        assert_eq!(role["rules"][0]["resourceNames"], json!([STATUS]));
        assert!(made.iter().all(|object| object["metadata"]["ownerReferences"][0]["uid"] == "u"));
    }

    #[test]
    fn what_the_installation_came_with_is_read() {
        let map = |data: Value| -> ConfigMap { serde_json::from_value(json!({"data": data})).unwrap() };
        assert!(Given::read(&map(json!({}))).unwrap_err().contains("has no config.json"));
        let odd = json!({"config.json": "{}", "image": "i"});
        assert!(Given::read(&map(odd)).unwrap_err().contains("config.json can't be read"));
        let text = given().text;
        assert!(Given::read(&map(json!({"config.json": text}))).unwrap_err().contains("has no image"));
    }
}
