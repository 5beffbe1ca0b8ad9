//! Nodes that boot from iSCSI: their firmware's network is made the node's own.

use assisted_wire::host::HostRole;
use serde_json::json;

use super::{Manifest, file, machine_config};

const SCRIPT: &str = "/usr/local/bin/iscsi-nic-reapply.sh";

/// Applies the network again, once, on nodes of a role whose root is on iSCSI.
pub fn iscsi(role: HostRole) -> Manifest {
    let name = format!("50-{role}s-iscsi-nic-reapply");
    let unit = include_str!("files/iscsi-nic-reapply.service");
    let config = json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [file(SCRIPT, 0o755, include_str!("files/iscsi-nic-reapply.sh"))]},
        "systemd": {"units": [{"name": "iscsi-nic-reapply.service", "enabled": true, "contents": unit}]},
    });
    Manifest::new(format!("{name}.yaml"), &machine_config(&name, role, &config))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn script_and_unit() {
        let manifest = iscsi(HostRole::Worker);
        assert_eq!(manifest.name, "50-workers-iscsi-nic-reapply.yaml");
        let object = testing::read(&manifest);
        assert_eq!(testing::file(&object, SCRIPT).0, 0o755);
        let unit = object["spec"]["config"]["systemd"]["units"][0]["contents"].as_str().unwrap();
        assert!(unit.contains(&format!("ExecStart={SCRIPT}\n")), "{unit}");
    }
}
