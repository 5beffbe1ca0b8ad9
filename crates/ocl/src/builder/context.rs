//! What a build sees beside its Containerfile: the rendered configuration without what is secret, authorities, the user's folders
//! (ocl-day1 §B5.3).

use std::io;
use std::time::Duration;

use serde_json::Value;

use super::Machine;
use super::containerfile::{AUTHORITIES, IGNITION};
use crate::paths::{EXTRA, EXTRA_INPUTS, SCRATCH};

/// Where a bootstrap host and a node have the authorities that the cluster's owner added.
const TRUST: [&str; 2] = [
    "/etc/pki/ca-trust/source/anchors/ca.crt",
    "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
];
/// Files that never go into an image, whatever their mode: nodes get them by Ignition.
const SECRET_FILES: [&str; 2] =
    ["/var/lib/kubelet/config.json", "/etc/mco/internal-registry-pull-secret.json"];
const SECRET_FOLDER: &str = "/etc/ocl-registry/";
/// What a file's mode gives to its group and to all others.
const OF_OTHERS: u64 = 0o077;

/// The folder of a pool's context.
pub(crate) fn dir(pool: &str) -> String {
    format!("{SCRATCH}/context-{pool}")
}

/// The configuration without files that are secret; what it left out.
pub(crate) fn without_secrets(mut config: Value) -> (Value, Vec<String>) {
    let mut left_out = Vec::new();
    if let Some(files) = config.pointer_mut("/storage/files").and_then(Value::as_array_mut) {
        files.retain(|file| {
            let path = file["path"].as_str().unwrap_or_default();
            let secret = is_secret(path, file["mode"].as_u64());
            if secret {
                left_out.push(path.to_owned());
            }
            !secret
        });
    }
    (config, left_out)
}

/// What only its owner may read is taken for a secret. A file without a mode gets 0644 from Ignition.
fn is_secret(path: &str, mode: Option<u64>) -> bool {
    SECRET_FILES.contains(&path)
        || path.starts_with(SECRET_FOLDER)
        || mode.is_some_and(|mode| mode & OF_OTHERS == 0)
}

/// Writes a pool's context anew; whether it has authorities.
pub(crate) fn write(
    machine: &Machine,
    pool: &str,
    ignition: Option<&Value>,
    containerfile: impl FnOnce(bool) -> String,
) -> io::Result<bool> {
    let dir = dir(pool);
    machine.fresh_dir(&dir)?;
    if let Some(config) = ignition {
        machine.write(&format!("{dir}/{IGNITION}"), 0o600, serde_json::to_vec(config)?)?;
    }
    let authorities = authorities(machine)?;
    if let Some(bundle) = &authorities {
        machine.write(&format!("{dir}/{AUTHORITIES}"), 0o644, bundle)?;
    }
    let trusts = authorities.is_some();
    machine.write(&format!("{dir}/Containerfile"), 0o600, containerfile(trusts))?;
    Ok(trusts)
}

/// The authorities that the cluster's owner added, if any.
pub(crate) fn authorities(machine: &Machine) -> io::Result<Option<Vec<u8>>> {
    TRUST.iter().find(|path| machine.exists(path)).map(|path| machine.read(path)).transpose()
}

/// Has the programs of a bootstrap host trust those authorities: they came onto a running system, where nothing takes them over by itself.
/// A node's are taken over when it starts.
pub(crate) async fn trust(machine: &Machine) -> Result<(), String> {
    const LIMIT: Duration = Duration::from_secs(120);
    if !machine.exists(TRUST[0]) {
        return Ok(());
    }
    machine.run(LIMIT, "update-ca-trust", &[] as &[&str]).await.map(drop)
}

/// The user's folders, as arguments that let each step of a build see them.
pub(crate) fn volumes(machine: &Machine) -> Vec<String> {
    const TARGETS: [&str; 3] = ["/etc/pki/entitlement", "/etc/pki/rpm-gpg", "/etc/yum.repos.d"];
    let given = EXTRA_INPUTS.iter().zip(TARGETS);
    let given = given.map(|(name, target)| (format!("{EXTRA}/{name}"), target));
    let there = given.filter(|(path, _)| machine.path(path).is_dir());
    there.map(|(path, target)| format!("--volume={}:{target}:ro", machine.name(&path))).collect()
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_is_in_the_configuration() {
        let file = |path: &str, mode: u32| json!({"path": path, "mode": mode});
        let config = json!({"ignition": {"version": "3.4.0"}, "storage": {"files": [
            file("/var/lib/kubelet/config.json", 0o644), file("/etc/ocl-registry/tls.key", 0o600),
            file("/etc/ocl-registry/config.yaml", 0o644), file("/etc/kubernetes/kubeconfig", 0o600),
            file("/etc/kubernetes/kubelet.conf", 0o644), file("/var/x", 0o600), file("/etc/x", 0o600),
            file("/etc/mco/internal-registry-pull-secret.json", 0o644), file("/etc/y", 0o400),
            file("/usr/local/bin/z", 0o700), file("/etc/group", 0o640), {"path": "/etc/kubernetes/unknown"}]}});
        let (kept, left_out) = without_secrets(config);
        let paths: Vec<_> =
            kept["storage"]["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
        assert_eq!(paths, ["/etc/kubernetes/kubelet.conf", "/etc/group", "/etc/kubernetes/unknown"]);
        assert_eq!(left_out.len(), 9);
        assert_eq!(without_secrets(json!({})).0, json!({}));
    }

    #[tokio::test]
    async fn programs_of_a_bootstrap_host_trust_what_its_cluster_trusts() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::at(dir.path().join("bin")));
        machine.write(TRUST[1], 0o644, "pem").unwrap();
        assert_eq!(trust(&machine).await, Ok(()), "a node's programs are not told again");
        machine.write(TRUST[0], 0o644, "pem").unwrap();
        let told = dir.path().join("told");
        let script = format!("#!/bin/sh\necho $# > {}\n", told.display());
        machine.write("/bin/update-ca-trust", 0o755, script).unwrap();
        assert_eq!(trust(&machine).await, Ok(()));
        assert_eq!(std::fs::read_to_string(told).unwrap(), "0\n");
        machine.write("/bin/update-ca-trust", 0o755, "#!/bin/sh\necho full >&2; exit 1\n").unwrap();
        assert_eq!(trust(&machine).await, Err("update-ca-trust failed with exit status 1: full".to_owned()));
    }

    #[test]
    fn the_context_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        let name = super::dir("master");
        machine.write(&format!("{name}/old"), 0o600, "").unwrap();
        assert!(!write(&machine, "master", None, |trusts| trusts.to_string()).unwrap());
        assert!(!machine.exists(&format!("{name}/old")) && !machine.exists(&format!("{name}/{IGNITION}")));
        machine.write(TRUST[1], 0o644, "pem").unwrap();
        assert!(write(&machine, "master", Some(&json!({})), |trusts| trusts.to_string()).unwrap());
        assert_eq!(machine.read(&format!("{name}/Containerfile")).unwrap(), b"true");
        assert_eq!(machine.read(&format!("{name}/{AUTHORITIES}")).unwrap(), b"pem");
        machine.write(&format!("{EXTRA}/etc-yum-repos-d/a.repo"), 0o600, "").unwrap();
        let volumes = volumes(&machine);
        assert!(
            volumes.len() == 1 && volumes[0].ends_with("/etc-yum-repos-d:/etc/yum.repos.d:ro"),
            "{volumes:?}"
        );
    }
}
