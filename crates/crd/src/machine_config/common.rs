//! How the kinds of image mode refer to others.

use serde::{Deserialize, Serialize};

/// An object of a kind and namespace that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameReference {
    pub name: String,
}

/// An object of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectReference {
    /// API group; empty for Kubernetes' first one.
    pub group: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Plural name of the kind.
    pub resource: String,
}
