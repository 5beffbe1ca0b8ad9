//! Manifests that the service adds to those of the installer (install-generation §8).
//!
//! Most are MachineConfigs: pieces of Ignition that the cluster applies to its nodes, also to those that join later.

mod chrony;
mod disk_encryption;
mod dnsmasq;
mod iscsi;
mod scheduler;
mod telemetry;

use assisted_wire::host::HostRole;
use serde_json::{Value, json};

use assisted_ignition_spec::resource::Resource;

pub use chrony::{TimeSources, chrony};
pub use disk_encryption::{DiskUnlock, disk_encryption};
pub use dnsmasq::{Names, dnsmasq};
pub use iscsi::iscsi;
pub use scheduler::schedulable_masters;
pub use telemetry::telemetry;

/// A manifest in the folder `openshift`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub name: String,
    /// YAML.
    pub text: String,
}

impl Manifest {
    /// An object in a manifest.
    pub fn new(name: impl Into<String>, object: &Value) -> Self {
        // A value of JSON is always YAML as well.
        let text = serde_yaml_ng::to_string(object).unwrap_or_else(|_| object.to_string());
        Self { name: name.into(), text }
    }
}

/// A MachineConfig for the pool of a role.
fn machine_config(name: &str, role: HostRole, config: &Value) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {"labels": {"machineconfiguration.openshift.io/role": role}, "name": name},
        "spec": {"config": config},
    })
}

/// A file in a MachineConfig.
fn file(path: &str, mode: u32, text: &str) -> Value {
    json!({"path": path, "mode": mode, "overwrite": true, "contents": {"source": Resource::bytes(text).source}})
}

#[cfg(test)]
mod testing {
    use serde_json::Value;

    use super::Manifest;
    use assisted_ignition_spec::config::Config;
    use assisted_ignition_spec::resource::Resource;
    use assisted_ignition_spec::validate::validate;

    /// The object in a manifest; what it has of Ignition is valid.
    pub(super) fn read(manifest: &Manifest) -> Value {
        let object: Value = serde_yaml_ng::from_str(&manifest.text).unwrap();
        if object["kind"] == "MachineConfig" {
            let config: Config = serde_json::from_value(object["spec"]["config"].clone()).unwrap();
            validate(&config).unwrap();
        }
        object
    }

    /// Mode and text of a file in a MachineConfig.
    pub(super) fn file(object: &Value, path: &str) -> (u64, String) {
        let files = object["spec"]["config"]["storage"]["files"].as_array().unwrap();
        let file = files.iter().find(|file| file["path"] == path).unwrap();
        let source = file["contents"]["source"].as_str().map(str::to_owned);
        let text = Resource { source, ..Resource::default() }.data().unwrap();
        (file["mode"].as_u64().unwrap(), String::from_utf8(text).unwrap())
    }
}
