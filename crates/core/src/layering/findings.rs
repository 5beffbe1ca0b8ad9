//! What of a manifest matters to image mode. Of a file only that is kept with the cluster, so that its validations need not read
//! files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::NAMESPACE;
use super::machine_os_config::{GROUP, is_one};
use crate::model::layering::ManifestObject;

/// Objects of one file that are looked at.
const MOST: usize = 500;
/// What is kept of one text: names are shorter.
const LONGEST: usize = 253;
/// Entries of a list that are kept.
const MOST_ENTRIES: usize = 100;
/// A file that has none of these words has nothing that matters: hardly any has, and it is not parsed.
const WORDS: [&[u8]; 3] =
    [b"machineconfiguration.openshift.io", b"openshift-machine-config-operator", b"ImagePolicy"];

/// What of a user's manifest matters; nothing for a patch, which is judged by what it makes.
pub fn of_manifest(file_name: &str, content: &[u8]) -> Vec<ManifestObject> {
    let named = |word: &&[u8]| content.windows(word.len()).any(|part| part == *word);
    let is_patch = file_name.rsplit('.').next().is_some_and(|ending| ending.starts_with("patch"));
    if is_patch || !WORDS.iter().any(named) {
        return Vec::new();
    }
    let documents = serde_yaml_ng::Deserializer::from_slice(content).take(MOST);
    let objects = documents.map_while(|document| Value::deserialize(document).ok());
    objects.filter_map(|object| of_object(&object)).collect()
}

/// What image mode has to know of an object; `None`: nothing.
pub fn of_object(object: &Value) -> Option<ManifestObject> {
    if is_one(object) {
        return Some(ManifestObject::MachineOsConfig(object.clone()));
    }
    let group = object["apiVersion"].as_str()?.split_once('/').map_or("", |parts| parts.0);
    let name = text(&object["metadata"]["name"]);
    let spec = &object["spec"];
    match (group, object["kind"].as_str()?) {
        ("", "Secret") if object["metadata"]["namespace"] == NAMESPACE => Some(secret(name, object)),
        (GROUP, "MachineConfig") => machine_config(name, object),
        (GROUP, "MachineConfigPool") => {
            let stream = spec["osImageStream"]["name"].as_str().is_some_and(|name| !name.is_empty());
            stream.then_some(ManifestObject::ImageStreamPool { name })
        }
        (GROUP, "ContainerRuntimeConfig") => {
            let runc = spec["containerRuntimeConfig"]["defaultRuntime"] == "runc";
            runc.then(|| ManifestObject::RuncRuntime {
                name,
                pools: selected_pools(&spec["machineConfigPoolSelector"]),
            })
        }
        ("config.openshift.io", "ClusterImagePolicy" | "ImagePolicy") => {
            Some(ManifestObject::ImagePolicy { name, scopes: texts(&spec["scopes"]) })
        }
        _ => None,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().chars().take(LONGEST).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().take(MOST_ENTRIES).map(text).collect()
}

fn machine_config(name: String, object: &Value) -> Option<ManifestObject> {
    let spec = &object["spec"];
    let mut fields = Vec::new();
    if spec["osImageURL"].as_str().is_some_and(|image| !image.is_empty()) {
        fields.push("osImageURL".to_owned());
    }
    if spec["extensions"].as_array().is_some_and(|extensions| !extensions.is_empty()) {
        fields.push("extensions".to_owned());
    }
    if spec["kernelType"].as_str().is_some_and(|kernel| !matches!(kernel, "" | "default")) {
        fields.push("kernelType".to_owned());
    }
    let role = text(&object["metadata"]["labels"]["machineconfiguration.openshift.io/role"]);
    (!fields.is_empty()).then_some(ManifestObject::MachineConfig { name, role, fields })
}

/// Pools that a selector can mean. The ready pools have a label each of this form; a selector by anything else may mean any.
fn selected_pools(selector: &Value) -> Vec<String> {
    const OF_POOL: &str = "pools.operator.machineconfiguration.openshift.io/";
    let labels = selector["matchLabels"].as_object().into_iter().flat_map(Map::keys);
    let mut pools: Vec<String> = labels
        .filter_map(|label| label.strip_prefix(OF_POOL))
        .map(|pool| pool.chars().take(LONGEST).collect())
        .collect();
    if pools.is_empty() {
        pools = vec!["master".to_owned(), "worker".to_owned()];
    }
    pools
}

fn secret(name: String, object: &Value) -> ManifestObject {
    let kind = text(&object["type"]);
    if !matches!(kind.as_str(), "kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg") {
        return ManifestObject::OtherSecret { name, r#type: kind };
    }
    let registries = credentials(object).map(|auths| auths.keys().take(MOST_ENTRIES).cloned().collect());
    ManifestObject::RegistrySecret { name, registries }
}

/// The entries of a Secret with credentials of registries, by registry; `None` when it can't be read. They are secret.
pub fn credentials(object: &Value) -> Option<Map<String, Value>> {
    let (key, below_auths) = match object["type"].as_str()? {
        "kubernetes.io/dockerconfigjson" => (".dockerconfigjson", true),
        "kubernetes.io/dockercfg" => (".dockercfg", false),
        _ => return None,
    };
    let text = match (&object["data"][key], &object["stringData"][key]) {
        (_, Value::String(plain)) => plain.clone().into_bytes(),
        (Value::String(encoded), _) => {
            STANDARD.decode(encoded.split_whitespace().collect::<String>()).ok()?
        }
        _ => return None,
    };
    let mut read: Value = serde_json::from_slice(&text).ok()?;
    let auths = if below_auths { read["auths"].take() } else { read };
    match auths {
        Value::Object(auths) if auths.values().all(Value::is_object) => Some(auths),
        _ => None,
    }
}

/// Whether credentials for a registry, or for a part of one, open a repository: the entry is the whole of it or ends before a `/`.
pub fn opens(registry: &str, repository: &str) -> bool {
    let registry =
        registry.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    // The oldest form has the version of the protocol behind the host.
    let registry = registry.strip_suffix("/v1").or_else(|| registry.strip_suffix("/v2")).unwrap_or(registry);
    !registry.is_empty()
        && repository.strip_prefix(registry).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
