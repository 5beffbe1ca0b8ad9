//! What the kinds of the providers have in common.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// Labels and annotations of what is made from a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What is known about an object, in the older form of Cluster API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct V1Beta1Condition {
    /// When `status` last changed.
    pub last_transition_time: Time,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `Error`, `Warning` or `Info` while `status` is `False`; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub severity: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub r#type: String,
}
