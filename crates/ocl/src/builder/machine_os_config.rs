//! The user's MachineOSConfig: what the builder takes out of it, and what becomes of it once the image is there (ocl-day1 §A2.1, §A5).

use assisted_wire::on_cluster_layering::{LayeringErrorCode, Pool};
use serde_json::{Value, json};

use super::{Failed, Machine};
use crate::config::mosc_file;
use crate::paths;

/// The Containerfile of a MachineOSConfig that has none: the image is the release's with its configuration.
pub(crate) const PLAIN: &str = "FROM configs AS final\n";
const ANNOTATION: &str = "machineconfiguration.openshift.io/pre-built-image";

/// A MachineOSConfig.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MachineOsConfig(Value);

impl MachineOsConfig {
    /// The one of a pool.
    pub(crate) fn of(machine: &Machine, pool: Pool) -> Result<Self, Failed> {
        let path = format!("{}/{}", paths::DIR, mosc_file(pool));
        let failed = |error: String| {
            Failed::for_good(
                LayeringErrorCode::Preflight,
                format!("the MachineOSConfig of pool {pool}: {error}"),
            )
        };
        let bytes = machine.read(&path).map_err(|error| failed(error.to_string()))?;
        let object: Value = serde_yaml_ng::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        if object["kind"] != "MachineOSConfig" {
            return Err(failed("it is an object of another kind".to_owned()));
        }
        Ok(Self(object))
    }

    /// The user's part of the Containerfile.
    pub(crate) fn containerfile(&self) -> &str {
        let parts = self.0.pointer("/spec/containerFile").and_then(Value::as_array);
        let is_general =
            |part: &&Value| part["containerfileArch"].as_str().is_none_or(|arch| arch == "NoArch");
        let found = parts.into_iter().flatten().find(is_general);
        found
            .and_then(|part| part["content"].as_str())
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(PLAIN)
    }

    /// Name of the Secret with which images are read.
    pub(crate) fn base_secret(&self) -> Option<&str> {
        self.0.pointer("/spec/baseImagePullSecret/name").and_then(Value::as_str)
    }

    /// Name of the Secret with which the image is pushed.
    pub(crate) fn push_secret(&self) -> Option<&str> {
        self.0.pointer("/spec/renderedImagePushSecret/name").and_then(Value::as_str)
    }

    /// Where the user wants images: a repository with a tag.
    pub(crate) fn push_spec(&self) -> &str {
        self.0.pointer("/spec/renderedImagePushSpec").and_then(Value::as_str).unwrap_or_default()
    }

    /// The object that makes the machine config operator take the image as its own: it names the image by digest and by no tag, which the
    /// published form refuses.
    pub(crate) fn seeded(&self, image: &str) -> Value {
        seeded(self.0.clone(), image)
    }
}

/// A MachineOSConfig that makes the machine config operator take an image as its own; see [`MachineOsConfig::seeded`].
pub fn seeded(mut object: Value, image: &str) -> Value {
    if !object["metadata"]["annotations"].is_object() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][ANNOTATION] = json!(image);
    object
}

/// Names of the Secrets with which a MachineOSConfig's images are read and pushed.
pub fn secret_names(object: &Value) -> Vec<&str> {
    let pointers = ["/spec/baseImagePullSecret/name", "/spec/renderedImagePushSecret/name"];
    let mut names: Vec<_> =
        pointers.iter().filter_map(|pointer| object.pointer(pointer).and_then(Value::as_str)).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn what_is_taken_out_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        let write = |text: &str| {
            machine.write(&format!("{}/mosc-master.yaml", paths::DIR), 0o600, text).unwrap();
            MachineOsConfig::of(&machine, Pool::Master)
        };
        assert!(write("kind: Secret").unwrap_err().reason.contains("another kind"));
        assert!(write("{").is_err());
        let least =
            write("kind: MachineOSConfig\nmetadata: {name: master}\nspec: {containerFile: []}").unwrap();
        assert_eq!((least.containerfile(), least.base_secret(), least.push_spec()), (PLAIN, None, ""));
        let whole = write(
            "kind: MachineOSConfig\nmetadata: {name: master}\nspec:\n  baseImagePullSecret: {name: base}\n  \
             renderedImagePushSecret: {name: push}\n  renderedImagePushSpec: r.example.com/a/os:latest\n  containerFile:\n  \
             - {containerfileArch: ARM64, content: FROM x}\n  - content: |\n      FROM configs AS final\n      RUN true\n",
        )
        .unwrap();
        assert_eq!(whole.containerfile(), "FROM configs AS final\nRUN true\n");
        assert_eq!((whole.base_secret(), whole.push_secret()), (Some("base"), Some("push")));
        let seeded = whole.seeded("r.example.com/a/os@sha256:00");
        assert_eq!(seeded["metadata"]["annotations"][ANNOTATION], "r.example.com/a/os@sha256:00");
        assert_eq!(seeded["spec"], whole.0["spec"]);
        assert_eq!(secret_names(&whole.0), ["base", "push"]);
        assert!(secret_names(&least.0).is_empty());
    }
}
