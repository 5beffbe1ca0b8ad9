//! Credentials of registries: one file of all that a pull may need, in the form that podman reads (ocl-day1 §B5.2).

use std::io;

use assisted_release::PullSecret;
use assisted_wire::secret::Secret;
use serde_json::{Map, Value};

use super::Machine;
use crate::paths;

/// Where a node and a bootstrap host have the cluster's pull secret, in which generation has put those of the embedded registry.
const PULL_SECRETS: [&str; 2] = ["/var/lib/kubelet/config.json", "/root/.docker/config.json"];

/// The pull secret with the entries of `secrets` over it, in which the last one counts.
pub(crate) fn merged(machine: &Machine, secrets: &[&str]) -> io::Result<Secret> {
    // A cluster may go without a pull secret of its own.
    let given = PULL_SECRETS.iter().filter(|path| machine.exists(path)).map(|path| (*path).to_owned());
    together(machine, given.chain(secrets.iter().map(|name| path(name))))
}

/// The entries of one secret alone; none where there is no such secret.
pub(crate) fn alone(machine: &Machine, secret: Option<&str>) -> io::Result<Secret> {
    together(machine, secret.map(path).into_iter())
}

fn path(name: &str) -> String {
    format!("{}/{name}.json", paths::SECRETS)
}

fn together(machine: &Machine, files: impl Iterator<Item = String>) -> io::Result<Secret> {
    let mut auths = Map::new();
    for path in files {
        let bytes = machine.read(&path).map_err(|error| io::Error::other(format!("{path}: {error}")))?;
        // Nothing of it is quoted.
        let document: Value = serde_json::from_slice(&bytes)
            .map_err(|_| io::Error::other(format!("{path} is no file of credentials")))?;
        if let Some(entries) = document.get("auths").and_then(Value::as_object) {
            auths.extend(entries.clone());
        }
    }
    Ok(Secret::from(serde_json::json!({ "auths": auths }).to_string()))
}

/// Writes credentials where a program can be pointed to; the file's name for it.
pub(crate) fn file(machine: &Machine, name: &str, auth: &Secret) -> io::Result<String> {
    // In memory: it dies with the machine.
    let path = format!("/run/ocl/auth/{name}.json");
    machine.write(&path, 0o600, auth.expose())?;
    Ok(machine.name(&path))
}

/// Credentials as our own client of registries reads them.
pub(crate) fn parsed(auth: &Secret) -> io::Result<PullSecret> {
    PullSecret::parse(auth).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn later_entries_win_and_nothing_is_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        assert_eq!(merged(&machine, &[]).unwrap().expose(), r#"{"auths":{}}"#);
        machine
            .write(PULL_SECRETS[1], 0o600, r#"{"auths":{"a":{"auth":"MQ=="},"b":{"auth":"Mg=="}}}"#)
            .unwrap();
        machine.write(&path("base"), 0o600, r#"{"auths":{"a":{"auth":"Mw=="}}}"#).unwrap();
        let all = merged(&machine, &["base"]).unwrap();
        assert_eq!(all.expose(), r#"{"auths":{"a":{"auth":"Mw=="},"b":{"auth":"Mg=="}}}"#);
        assert_eq!(alone(&machine, Some("base")).unwrap().expose(), r#"{"auths":{"a":{"auth":"Mw=="}}}"#);
        assert_eq!(alone(&machine, None).unwrap().expose(), r#"{"auths":{}}"#);
        assert!(merged(&machine, &["none"]).is_err() && alone(&machine, Some("none")).is_err());
        // A node has its own elsewhere.
        machine.write(PULL_SECRETS[0], 0o600, r#"{"auths":{"c":{"auth":"NA=="}}}"#).unwrap();
        assert!(merged(&machine, &[]).unwrap().expose().contains("NA=="));
        machine.write(&path("odd"), 0o600, "hunter2").unwrap();
        let told = merged(&machine, &["odd"]).unwrap_err().to_string();
        assert!(!told.contains("hunter2") && told.contains("secrets/odd.json"), "{told}");
        let path = file(&machine, "x", &all).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), all.expose());
    }
}
