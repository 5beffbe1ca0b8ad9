//! The release's own controller renders the configuration of all pools, as it will do once more for the temporary control plane
//! (ocl-day1 §B5.2): before the build, to know what goes into the image, and after it, to see that nothing but the image has changed.

use std::time::Duration;

use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};
use serde_json::Value;

use super::Failed;
use super::machine::{Machine, require_success};
use crate::config::Config;

/// What the controller renders from.
pub(crate) const INPUT: &str = "/etc/mcc/bootstrap";
const PULL_SECRET: &str = "machineconfigcontroller-pull-secret";
const LIMIT: Duration = Duration::from_secs(5 * 60);
/// What a controller has in it that takes images over.
const MARK: &str = "machineconfiguration.openshift.io/pre-built-image";

/// The first or the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    First,
    Second,
}

impl Pass {
    pub(crate) fn dir(self) -> &'static str {
        match self {
            Self::First => "/opt/openshift/ocl/pass1",
            Self::Second => "/opt/openshift/ocl/pass2",
        }
    }

    pub(crate) fn log(self) -> &'static str {
        match self {
            Self::First => "/opt/openshift/ocl/state/pass1.log",
            Self::Second => "/opt/openshift/ocl/state/pass2.log",
        }
    }
}

/// The configuration of a pool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rendered {
    pub name: String,
    pub spec: Value,
}

impl Rendered {
    /// The image that nodes boot.
    pub(crate) fn os_image(&self) -> &str {
        self.spec["osImageURL"].as_str().unwrap_or_default()
    }

    /// The Ignition config.
    pub(crate) fn ignition(&self) -> Value {
        self.spec["config"].clone()
    }
}

fn failed(reason: impl Into<String>) -> Failed {
    Failed::new(LayeringErrorCode::Render, reason)
}

/// Renders into the pass's folder.
pub(crate) async fn run(machine: &Machine, config: &Config, pass: Pass, auth: &str) -> Result<(), Failed> {
    machine.fresh_dir(pass.dir()).map_err(|error| failed(format!("{}: {error}", pass.dir())))?;
    let input = format!("--volume={}:{INPUT}:ro", machine.name(INPUT));
    let output = format!("--volume={}:/etc/mcs/bootstrap", machine.name(pass.dir()));
    let secret = format!("--pull-secret={INPUT}/{PULL_SECRET}");
    let version = format!("--payload-version={}", config.release_version);
    let cmd =
        machine.cmd(LIMIT, "podman").args(["run", "--rm", "--privileged", "--net=host", "--authfile", auth]);
    let cmd = cmd.args([&input, &output]);
    let cmd =
        cmd.args(["--entrypoint", "/usr/bin/machine-config-controller", &config.images.mco, "bootstrap"]);
    let cmd =
        cmd.arg(format!("--manifest-dir={INPUT}")).args(["--dest-dir=/etc/mcs/bootstrap", &secret, &version]);
    let done = cmd.merged().run().await;
    let text = done.as_ref().map(assisted_base::process::CmdOutput::text).unwrap_or_default();
    machine
        .write(pass.log(), 0o600, super::redact(&text))
        .map_err(|error| failed(format!("{}: {error}", pass.log())))?;
    require_success("podman", done)
        .map(drop)
        .map_err(|error| failed(format!("the configuration can't be rendered: {error}")))
}

/// Reads what was rendered for a pool.
pub(crate) fn read(machine: &Machine, pass: Pass, pool: Pool) -> Result<Rendered, Failed> {
    let yaml = |path: String| -> Result<Value, Failed> {
        let bytes = machine.read(&path).map_err(|error| failed(format!("{path}: {error}")))?;
        // The text may quote what is in the file, so it is not told.
        serde_yaml_ng::from_slice(&bytes).map_err(|_| failed(format!("{path} can't be read")))
    };
    let pools = yaml(format!("{}/machine-pools/{pool}.yaml", pass.dir()))?;
    let named = |part: &str| pools[part]["configuration"]["name"].as_str().filter(|name| !name.is_empty());
    let name = named("spec").or_else(|| named("status"));
    let name = name.ok_or_else(|| failed(format!("pool {pool} has no rendered configuration")))?;
    if !is_name(name) {
        return Err(failed(format!("pool {pool} has a configuration with an odd name")));
    }
    let mut config = yaml(format!("{}/machine-configs/{name}.yaml", pass.dir()))?;
    let rendered = Rendered { name: name.to_owned(), spec: config["spec"].take() };
    if rendered.os_image().is_empty() {
        return Err(failed(format!("{name} names no image for nodes")));
    }
    Ok(rendered)
}

/// Lays what the cluster has rendered for a pool where the first pass lays what it renders.
pub(super) fn lay(machine: &Machine, pool: Pool, config: &Value) -> std::io::Result<()> {
    let name = config["metadata"]["name"].as_str().filter(|name| is_name(name));
    let name = name
        .ok_or_else(|| std::io::Error::other(format!("pool {pool} has a configuration with an odd name")))?;
    let dir = Pass::First.dir();
    let named = serde_json::json!({"spec": {"configuration": {"name": name}}});
    machine.write(&format!("{dir}/machine-pools/{pool}.yaml"), 0o600, named.to_string())?;
    let spec = serde_json::json!({"spec": config["spec"]});
    machine.write(&format!("{dir}/machine-configs/{name}.yaml"), 0o600, spec.to_string())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'.')
}

/// Whether the release's controller can take an image over as its own: its program has the annotation in it.
pub(crate) async fn is_seedable(machine: &Machine, config: &Config, auth: &str) -> Result<bool, Failed> {
    let search =
        ["--entrypoint", "grep", &config.images.mco, "-c", "-F", MARK, "/usr/bin/machine-config-controller"];
    let cmd =
        machine.cmd(LIMIT, "podman").args(["run", "--rm", "--net=none", "--authfile", auth]).args(search);
    match cmd.run().await {
        Ok(done) if done.success() => Ok(true),
        Ok(done) if done.code() == 1 => Ok(false),
        done => Err(failed(format!(
            "what the release can do is not known: {}",
            require_success("podman", done).err().unwrap_or_default()
        ))),
    }
}

/// What the second rendering changed besides the image; nothing, if all is well. Of files only the paths are told.
pub(crate) fn differences(first: &Rendered, second: &Rendered) -> Vec<String> {
    let mut found = Vec::new();
    let keys = |spec: &Value| {
        spec.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut names = keys(&first.spec);
    names.extend(keys(&second.spec));
    names.sort();
    names.dedup();
    for name in names {
        if name == "osImageURL" || first.spec[&name] == second.spec[&name] {
            continue;
        }
        if name == "config" {
            found.extend(differing_files(&first.spec[&name], &second.spec[&name]));
        } else {
            found.push(name);
        }
    }
    found
}

fn differing_files(first: &Value, second: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (place, key) in [("/storage/files", "path"), ("/systemd/units", "name")] {
        let list =
            |config: &Value| config.pointer(place).and_then(Value::as_array).cloned().unwrap_or_default();
        let (first, second) = (list(first), list(second));
        let odd = first
            .iter()
            .filter(|one| !second.contains(one))
            .chain(second.iter().filter(|one| !first.contains(one)));
        found.extend(odd.filter_map(|one| one[key].as_str()).map(str::to_owned));
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        found.push("config".to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_rendered_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        let pool = |text: &str| {
            machine.write("/opt/openshift/ocl/pass1/machine-pools/master.yaml", 0o600, text).unwrap();
            read(&machine, Pass::First, Pool::Master)
        };
        machine
            .write(
                "/opt/openshift/ocl/pass1/machine-configs/rendered-master-1.yaml",
                0o600,
                "spec: {osImageURL: os, config: {}}",
            )
            .unwrap();
        assert_eq!(pool("status: {configuration: {name: rendered-master-1}}").unwrap().os_image(), "os");
        assert_eq!(pool("spec: {configuration: {name: rendered-master-1}}").unwrap().ignition(), json!({}));
        for text in
            ["{", "spec: {}", "spec: {configuration: {name: ../x}}", "spec: {configuration: {name: none}}"]
        {
            assert_eq!(pool(text).unwrap_err().code, LayeringErrorCode::Render, "{text}");
        }
    }

    #[test]
    fn only_the_image_may_change() {
        let rendered = |image: &str, content: &str, kargs: &[&str]| Rendered {
            name: "x".to_owned(),
            spec: json!({"osImageURL": image, "kernelArguments": kargs,
                "config": {"storage": {"files": [{"path": "/a"}, {"path": "/secret", "contents": {"source": content}}]}}}),
        };
        let first = rendered("a", "x", &[]);
        assert!(differences(&first, &rendered("b", "x", &[])).is_empty());
        assert_eq!(differences(&first, &rendered("b", "hunter2", &["q"])), ["/secret", "kernelArguments"]);
    }
}
