//! A cluster of pretended hosts: each that says it has rebooted is a ready node (installer-and-controller §A21).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tracing::warn;

use super::object::{Address, Condition, Metadata, Node, NodeStatus};

const CONFIG: &str = "rendered-master-pretended";

/// The file with the cluster's hosts.
#[derive(Clone, Debug)]
pub struct DryRunCluster {
    hosts: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    hostname: String,
    ip: String,
    reboot_marker_path: PathBuf,
}

impl DryRunCluster {
    pub fn new(hosts: impl Into<PathBuf>) -> Self {
        Self { hosts: hosts.into() }
    }

    fn rebooted(&self) -> Vec<Entry> {
        let read = |path: &Path| -> std::io::Result<Vec<Entry>> {
            Ok(serde_json::from_slice(&std::fs::read(path)?)?)
        };
        let hosts = read(&self.hosts).unwrap_or_else(|error| {
            warn!(path = %self.hosts.display(), %error, "no hosts of a pretended cluster");
            Vec::new()
        });
        hosts.into_iter().filter(|host| host.reboot_marker_path.exists()).collect()
    }

    pub(super) fn nodes(&self, label: &str) -> Vec<Node> {
        if !label.ends_with("/master") {
            return Vec::new();
        }
        let node = |host: Entry| Node {
            metadata: Metadata {
                name: host.hostname,
                annotations: ["currentConfig", "desiredConfig"]
                    .map(|name| (format!("machineconfiguration.openshift.io/{name}"), CONFIG.to_owned()))
                    .into(),
            },
            status: NodeStatus {
                conditions: vec![Condition { kind: "Ready".into(), status: "True".into() }],
                addresses: vec![Address { kind: "InternalIP".into(), address: host.ip }],
            },
            ..Node::default()
        };
        self.rebooted().into_iter().map(node).collect()
    }

    pub(super) fn config_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let text = "controlPlane: {replicas: 3}\n".to_owned();
        (name == "cluster-config-v1").then(|| BTreeMap::from([("install-config".to_owned(), text)]))
    }

    /// What the server of machine configs would have logged.
    pub fn machine_config_log(&self) -> String {
        let line = |host: Entry| {
            let ip = if host.ip.contains(':') { format!("[{}]", host.ip) } else { host.ip };
            format!("Pool master requested by address:\"{ip}:1234\" User-Agent:\"Ignition/2.0\"\n")
        };
        self.rebooted().into_iter().map(line).collect()
    }
}
