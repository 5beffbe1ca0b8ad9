//! What several kinds of the cluster's configuration have in common.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// What is known about an operator or the cluster's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusCondition {
    /// When `status` last changed.
    pub last_transition_time: Time,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub r#type: String,
}

/// Where images of a source are pulled from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageMirrors {
    /// `NeverContactSource` or `AllowContactingSource`, when no mirror has the image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mirror_source_policy: String,
    /// Repositories, tried in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mirrors: Vec<String>,
    /// Repository, registry, or wildcard of a domain that images are asked of.
    pub source: String,
}
