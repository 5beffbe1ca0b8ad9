//! Objects as they stand in files.

use assisted_crd::agent_install::infra_env::InfraEnv;
use assisted_crd::agent_install::nmstate_config::NMStateConfig;
use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::hive::cluster_image_set::ClusterImageSet;
use assisted_crd::hive_extensions::agent_cluster_install::AgentClusterInstall;
use assisted_crd::metal3::bare_metal_host::BareMetalHost;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Most documents that one file may hold.
const MOST: usize = 10_000;

/// One object of a file.
#[derive(Clone, Debug)]
pub enum Document {
    ClusterDeployment(Box<ClusterDeployment>),
    AgentClusterInstall(Box<AgentClusterInstall>),
    InfraEnv(Box<InfraEnv>),
    NMStateConfig(Box<NMStateConfig>),
    ClusterImageSet(Box<ClusterImageSet>),
    BareMetalHost(Box<BareMetalHost>),
    Secret(Box<Secret>),
    ConfigMap(Box<ConfigMap>),
    /// An object that asks nothing of the service: its kind with group, and its name.
    Other {
        kind: String,
        namespace: String,
        name: String,
    },
}

/// Why a file can't be read as objects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is no YAML or JSON.
    #[error("document {place} is neither YAML nor JSON: {cause}")]
    Syntax { place: usize, cause: String },
    /// It is something else than an object.
    #[error("document {place} is no object: it has no {missing}")]
    NoObject { place: usize, missing: &'static str },
    /// A field has a value of another type than its kind's definition says.
    #[error("{kind} {name:?}: {cause}")]
    Field { kind: String, name: String, cause: String },
    /// A field is not one of its kind's.
    #[error("{kind} {name:?} has a field that is unknown: {path}; correct or remove it")]
    Unknown { kind: String, name: String, path: String },
    /// It holds more documents than anybody writes.
    #[error("there are more than {MOST} documents")]
    TooMany,
}

impl Document {
    /// The objects of a text: YAML documents, or JSON; a `List` stands for its items.
    ///
    /// # Errors
    /// The first document that can't be read, by its place in the text, from one.
    pub fn read(text: &str) -> Result<Vec<Self>, Malformed> {
        let mut documents = Vec::new();
        for (place, document) in serde_yaml_ng::Deserializer::from_str(text).enumerate() {
            let place = place + 1;
            let value = Value::deserialize(document)
                .map_err(|error| Malformed::Syntax { place, cause: error.to_string() })?;
            Self::take(value, place, &mut documents)?;
            if documents.len() > MOST {
                return Err(Malformed::TooMany);
            }
        }
        Ok(documents)
    }

    fn take(value: Value, place: usize, documents: &mut Vec<Self>) -> Result<(), Malformed> {
        if value.is_null() {
            return Ok(());
        }
        let text =
            |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api, kind) = (text("/apiVersion"), text("/kind"));
        for (found, missing) in [(&api, "apiVersion"), (&kind, "kind")] {
            if found.is_empty() {
                return Err(Malformed::NoObject { place, missing });
            }
        }
        if kind == "List" && api == "v1" {
            let items = value.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
            return items.into_iter().try_for_each(|item| Self::take(item, place, documents));
        }
        let name = text("/metadata/name");
        if name.is_empty() {
            return Err(Malformed::NoObject { place, missing: "metadata.name" });
        }
        let group = api.split_once('/').map_or("", |(group, _)| group);
        let document = match (group, kind.as_str()) {
            ("hive.openshift.io", "ClusterDeployment") => {
                Self::ClusterDeployment(typed(value, &kind, &name)?)
            }
            ("hive.openshift.io", "ClusterImageSet") => Self::ClusterImageSet(typed(value, &kind, &name)?),
            ("extensions.hive.openshift.io", "AgentClusterInstall") => {
                Self::AgentClusterInstall(known(value, &kind, &name)?)
            }
            ("agent-install.openshift.io", "InfraEnv") => Self::InfraEnv(known(value, &kind, &name)?),
            ("agent-install.openshift.io", "NMStateConfig") => {
                Self::NMStateConfig(known(value, &kind, &name)?)
            }
            ("metal3.io", "BareMetalHost") => Self::BareMetalHost(typed(value, &kind, &name)?),
            ("", "Secret") => Self::Secret(typed(value, &kind, &name)?),
            ("", "ConfigMap") => Self::ConfigMap(typed(value, &kind, &name)?),
            _ => {
                let namespace = text("/metadata/namespace");
                let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
                Self::Other { kind, namespace, name }
            }
        };
        documents.push(document);
        Ok(())
    }
}

fn typed<T: DeserializeOwned>(value: Value, kind: &str, name: &str) -> Result<Box<T>, Malformed> {
    // The cause of a Secret's error could quote the Secret.
    let cause = |error: serde_json::Error| match kind {
        "Secret" => "a field has a value of a wrong type; data is base64, stringData is text".to_owned(),
        _ => error.to_string(),
    };
    let read = serde_json::from_value(value);
    let field =
        |error| Malformed::Field { kind: kind.to_owned(), name: name.to_owned(), cause: cause(error) };
    read.map(Box::new).map_err(field)
}

/// An object of a kind whose fields are all known. A field that is misspelt would otherwise ask for nothing, silently.
fn known<T: DeserializeOwned + serde::Serialize>(
    value: Value,
    kind: &str,
    name: &str,
) -> Result<Box<T>, Malformed> {
    let given = value.get("spec").cloned().unwrap_or_default();
    let read: Box<T> = typed(value, kind, name)?;
    let back = serde_json::to_value(&*read).unwrap_or_default();
    let understood = back.get("spec").cloned().unwrap_or_default();
    match unknown(&given, &understood) {
        Some(path) => Err(Malformed::Unknown {
            kind: kind.to_owned(),
            name: name.to_owned(),
            path: format!("spec{path}"),
        }),
        None => Ok(read),
    }
}

/// The first field that was given a value and was not understood. Empty values ask for nothing.
fn unknown(given: &Value, understood: &Value) -> Option<String> {
    match given {
        Value::Object(fields) => {
            fields.iter().filter(|(_, value)| !empty(value)).find_map(|(name, value)| {
                match understood.get(name) {
                    Some(understood) => unknown(value, understood),
                    None => Some(String::new()),
                }
                .map(|path| format!(".{name}{path}"))
            })
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
            let understood = understood.get(place).unwrap_or(&Value::Null);
            unknown(item, understood).map(|path| format!("[{place}]{path}"))
        }),
        _ => None,
    }
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(empty),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}
