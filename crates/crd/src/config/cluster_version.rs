//! ClusterVersion: what of it is read and written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use crate::config::common::StatusCondition;
use crate::resource::resource;

resource! {
    /// The version of the cluster; there is one, named `version`. Only the fields that are read and written here.
    ClusterVersion, "config.openshift.io", "v1", "clusterversions", Cluster {
        spec: ClusterVersionSpec,
        status: ClusterVersionStatus,
    }
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterVersionSpec {
    /// Id that the cluster gave itself.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// Release that the cluster is to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_update: Option<Update>,
}

/// Release that a cluster is to run: by its version, if the update service knows it, or by its image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Update {
    /// Whether neither signature nor preconditions stop it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Reference of the release image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// What is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterVersionStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StatusCondition>,
    /// Release that it runs or goes to.
    pub desired: Release,
    /// Releases that it ran, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<UpdateHistory>,
    /// Generation of the object that the status is about.
    pub observed_generation: i64,
    /// Tells one spec from another.
    pub version_hash: String,
}

/// A release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Release {
    /// Reference of the release image.
    pub image: String,
    /// Version.
    pub version: String,
}

/// A release that a cluster ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateHistory {
    /// What was overruled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub accepted_risks: String,
    /// When it ended; none: not yet.
    pub completion_time: Option<Time>,
    /// Reference of the release image.
    #[serde(default)]
    pub image: String,
    /// When it began.
    pub started_time: Time,
    /// `Completed` or `Partial`.
    #[serde(default)]
    pub state: String,
    /// Whether its signature was checked.
    #[serde(default)]
    pub verified: bool,
    /// Version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}
