//! The manifests of a cluster, before anybody lays more over them.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Run;
use crate::files;

const MACHINES: &str = "openshift-machine-api";

impl Run {
    /// Writes both folders.
    pub(super) fn manifests(&self) -> Result<()> {
        for (path, object) in self.cluster_objects().into_iter().chain(self.machines()) {
            files::write(self.dir.join(path), 0o640, serde_yaml_ng::to_string(&object)?)?;
        }
        Ok(())
    }

    fn cluster_objects(&self) -> Vec<(String, Value)> {
        let config = &self.config;
        let cluster = config.cluster(&self.state.infra_id, &self.release_image);
        let topology = |count: usize| if count > 1 { "HighlyAvailable" } else { "SingleReplica" };
        let control = match (config.masters, config.arbiters) {
            (2, 1..) => "HighlyAvailableArbiter",
            (count, _) => topology(count),
        };
        // With no workers the control plane carries what they would.
        let infrastructure =
            if config.workers == 0 { topology(config.masters) } else { topology(config.workers) };
        let secret = STANDARD.encode(&config.pull_secret);
        let mut all = vec![
            (
                "manifests/cvo-overrides.yaml",
                of_config(
                    "ClusterVersion",
                    "version",
                    json!({
                        "channel": "stable", "clusterID": self.state.cluster_id,
                    }),
                    None,
                ),
            ),
            (
                "manifests/cluster-infrastructure-02-config.yml",
                of_config(
                    "Infrastructure",
                    "cluster",
                    json!({
                        "platformSpec": {"type": platform_name(&config.platform)},
                    }),
                    Some(json!({
                        "apiServerURL": format!("https://{}:6443", cluster.api()),
                        "apiServerInternalURI": format!("https://{}:6443", cluster.api_int()),
                        "infrastructureName": self.state.infra_id, "controlPlaneTopology": control,
                        "infrastructureTopology": infrastructure, "platform": platform_name(&config.platform),
                    })),
                ),
            ),
            (
                "manifests/cluster-scheduler-02-config.yml",
                of_config(
                    "Scheduler",
                    "cluster",
                    json!({
                        "mastersSchedulable": config.workers == 0, "policy": {"name": ""},
                    }),
                    Some(json!({})),
                ),
            ),
            (
                "manifests/cluster-proxy-01-config.yaml",
                of_config(
                    "Proxy",
                    "cluster",
                    json!({
                        "trustedCA": {"name": ""},
                    }),
                    Some(json!({})),
                ),
            ),
            (
                "manifests/cluster-dns-02-config.yml",
                of_config(
                    "DNS",
                    "cluster",
                    json!({
                        "baseDomain": cluster.domain(),
                    }),
                    Some(json!({})),
                ),
            ),
            (
                "manifests/cluster-ingress-02-config.yml",
                of_config(
                    "Ingress",
                    "cluster",
                    json!({
                        "domain": format!("apps.{}", cluster.domain()),
                    }),
                    Some(json!({})),
                ),
            ),
            (
                "manifests/cluster-network-02-config.yml",
                of_config(
                    "Network",
                    "cluster",
                    json!({
                        "serviceNetwork": [cluster.services()],
                    }),
                    Some(json!({})),
                ),
            ),
            (
                "manifests/cluster-config.yaml",
                map(
                    "kube-system",
                    "cluster-config-v1",
                    json!({
                        "install-config": self.public_config(),
                    }),
                ),
            ),
            (
                "manifests/openshift-config-secret-pull-secret.yaml",
                json!({
                    "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
                    "metadata": {"namespace": "openshift-config", "name": "pull-secret"},
                    "data": {".dockerconfigjson": secret},
                }),
            ),
            (
                "openshift/openshift-install-manifests.yaml",
                map(
                    "openshift-config",
                    "openshift-install-manifests",
                    json!({
                        "invoker": self.invoker, "version": "lab",
                    }),
                ),
            ),
        ];
        for role in ["master", "worker"] {
            if !config.ssh_key.is_empty() {
                let path = if role == "master" {
                    "openshift/99_openshift-machineconfig_99-master-ssh.yaml"
                } else {
                    "openshift/99_openshift-machineconfig_99-worker-ssh.yaml"
                };
                all.push((path, ssh(role, &config.ssh_key)));
            }
        }
        all.into_iter().map(|(path, object)| (path.to_owned(), object)).collect()
    }

    /// The install config, without what nobody else is to see.
    fn public_config(&self) -> String {
        let mut config = self.state.config.clone();
        config["pullSecret"] = json!("");
        serde_yaml_ng::to_string(&config).unwrap_or_default()
    }

    /// Machines and the bare-metal hosts under them; those of the control plane belong together from the beginning.
    fn machines(&self) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        let mut count = std::collections::BTreeMap::new();
        for (number, host) in self.config.hosts.iter().enumerate() {
            let role = if host.role.is_empty() { "worker" } else { &host.role };
            let place = count.entry(role.to_owned()).or_insert(0_usize);
            let machine = match role {
                "worker" => format!("{}-worker-0-{}", self.state.infra_id, super::random(5)),
                _ => format!("{}-{role}-{place}", self.state.infra_id),
            };
            let kind = if role == "arbiter" { "arbiter_hosts" } else { "hosts" };
            let mut object = json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {"name": host.name, "namespace": MACHINES, "labels": {}},
                "spec": {"online": true, "bootMACAddress": host.mac, "bmc": {"address": "", "credentialsName": ""}},
            });
            if role != "worker" {
                object["spec"]["consumerRef"] = json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": machine, "namespace": MACHINES,
                });
            }
            all.push((format!("openshift/99_openshift-cluster-api_{kind}-{number}.yaml"), object));
            all.push((
                format!("openshift/99_openshift-cluster-api_{role}-machines-{place}.yaml"),
                json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                    "metadata": {"name": machine, "namespace": MACHINES, "labels": {
                        "machine.openshift.io/cluster-api-cluster": self.state.infra_id,
                        "machine.openshift.io/cluster-api-machine-role": role,
                        "machine.openshift.io/cluster-api-machine-type": role,
                    }},
                    "spec": {},
                }),
            ));
            *place += 1;
        }
        all
    }
}

fn of_config(kind: &str, name: &str, spec: Value, status: Option<Value>) -> Value {
    let mut object =
        json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": name}});
    object["spec"] = spec;
    if let Some(status) = status {
        object["status"] = status;
    }
    object
}

fn map(namespace: &str, name: &str, data: Value) -> Value {
    let metadata = json!({"namespace": namespace, "name": name});
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    object["data"] = data;
    object
}

fn ssh(role: &str, keys: &str) -> Value {
    let keys: Vec<_> = keys.lines().map(str::trim).filter(|key| !key.is_empty()).collect();
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {
            "name": format!("99-{role}-ssh"), "labels": {"machineconfiguration.openshift.io/role": role},
        },
        "spec": {"config": {
            "ignition": {"version": "3.2.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": keys}]},
        }},
    })
}

fn platform_name(key: &str) -> &str {
    match key {
        "baremetal" => "BareMetal",
        "vsphere" => "VSphere",
        "nutanix" => "Nutanix",
        "external" => "External",
        _ => "None",
    }
}
