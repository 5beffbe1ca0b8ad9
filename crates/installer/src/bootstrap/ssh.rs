//! A key with which this host reaches the other control-plane hosts, to gather their logs.

use serde_json::json;

use super::manifests::ManifestError;
use crate::host::Host;

const KEY: &str = "/root/.ssh/id_rsa";
const PUBLIC: &str = "/root/.ssh/id_rsa.pub";
const MANIFEST: &str =
    "/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml";

/// Makes the key, unless it is there, and the manifest that lets it in.
pub(super) async fn prepare(host: &Host) -> Result<(), ManifestError> {
    if !host.exists(KEY) || !host.exists(PUBLIC) {
        // Half a pair would be asked about.
        let _ = std::fs::remove_file(host.path(KEY));
        host.run("ssh-keygen", &["-q", "-f", KEY, "-N", ""]).await?;
    }
    let key = host.read(PUBLIC)?;
    let key = String::from_utf8_lossy(&key).trim().to_owned();
    let manifest = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": "99-assisted-installer-master-ssh",
            "labels": {"machineconfiguration.openshift.io/role": "master"},
        },
        "spec": {"config": {
            "ignition": {"version": "3.1.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [key]}]},
        }},
    });
    host.write(MANIFEST, 0o644, serde_yaml_ng::to_string(&manifest)?)?;
    Ok(())
}
