//! The config of one host: that of its role, and what is the host's own (install-generation §6.5).

use serde_json::json;

use super::edit::{EditError, NewFile, Tree};
use assisted_ignition_spec::resource::Resource;

const HOSTNAME: &str = "/etc/hostname";
const NODE_IP: &str = "/etc/default/nodeip-configuration";
const SCRIPT: &str = "/usr/local/bin/cleanup-assisted-discovery-stateroot.sh";
const UNIT: &str = "cleanup-assisted-discovery-stateroot.service";

/// What a host's config is edited by.
#[derive(Clone, Debug, Default)]
pub struct Host<'a> {
    pub name: &'a str,
    /// An address in the network that the node's own is chosen from; empty: the node chooses.
    pub node_ip_hint: String,
    /// A config that the user lays over; empty: none.
    pub overrides: &'a str,
    /// The pool that the host joins in the place of its role's; empty: none.
    pub pool: &'a str,
    /// Whether the host is installed beside the system that it was discovered with.
    pub keeps_discovery_root: bool,
}

impl Host<'_> {
    /// The host's config out of that of its role.
    ///
    /// # Errors
    ///
    /// See [`EditError`].
    pub fn edit(&self, role: &Tree) -> Result<Tree, EditError> {
        let mut tree = role.clone();
        // Host names need no escapes.
        tree.put(NewFile {
            path: HOSTNAME,
            mode: 0o644,
            overwrite: true,
            source: format!("data:,{}", self.name),
        })?;
        if !self.node_ip_hint.is_empty() {
            let text = format!("KUBELET_NODEIP_HINT={}", self.node_ip_hint);
            tree.put(NewFile::text(NODE_IP, 0o644, true, &text))?;
        }
        tree.overlay(self.overrides)?;
        if !self.pool.is_empty() {
            for source in tree.merged_sources() {
                if let Some(text) = source.as_str() {
                    *source = text.replacen("config/worker", &format!("config/{}", self.pool), 1).into();
                }
            }
        }
        if self.keeps_discovery_root {
            let script = Resource::text(include_str!("files/cleanup-assisted-discovery-stateroot.sh"));
            tree.put(NewFile {
                path: SCRIPT,
                mode: 0o755,
                overwrite: true,
                source: script.source.unwrap_or_default(),
            })?;
            let unit = include_str!("files/cleanup-assisted-discovery-stateroot.service");
            tree.merge(json!({"systemd": {"units": [{"name": UNIT, "enabled": true, "contents": unit}]}}));
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn pointer() -> Tree {
        let config = json!({"ignition": {
            "version": "3.2.0",
            "config": {"merge": [{"source": "https://192.168.1.5:22623/config/worker"}]},
        }});
        Tree::read(config.to_string().as_bytes()).unwrap()
    }

    fn value(tree: &Tree) -> Value {
        serde_json::from_slice(&tree.write()).unwrap()
    }

    #[test]
    fn a_host_of_its_own() {
        let overrides = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/hostname","overwrite":true,"contents":{"source":"data:,other"}}]}}"#;
        let host = Host { name: "node-1", node_ip_hint: "10.0.0.0".into(), overrides, ..Host::default() };
        let tree = host.edit(&pointer()).unwrap();
        assert_eq!(tree.content(NODE_IP).unwrap(), b"KUBELET_NODEIP_HINT=10.0.0.0");
        assert_eq!(tree.content(HOSTNAME).unwrap(), b"other");
        let plain = Host { name: "node-1", ..Host::default() }.edit(&pointer()).unwrap();
        assert_eq!(plain.files().len(), 1);
        assert_eq!(plain.files()[0]["contents"]["source"], "data:,node-1");
    }

    #[test]
    fn pools_and_roots() {
        let host = Host { name: "n", pool: "infra", keeps_discovery_root: true, ..Host::default() };
        let config = value(&host.edit(&pointer()).unwrap());
        assert_eq!(
            config["ignition"]["config"]["merge"][0]["source"],
            "https://192.168.1.5:22623/config/infra"
        );
        assert_eq!(config["systemd"]["units"][0]["name"], UNIT);
        assert_eq!(config["storage"]["files"][1]["mode"], 0o755);
    }
}
