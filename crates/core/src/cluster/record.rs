//! What is kept of a cluster.

use assisted_wire::cluster::Cluster;
use assisted_wire::secret::Secret;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A cluster as it is stored: what the API shows, and what it never shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterRecord {
    /// What the API shows. Never filled here, but when it is read: hosts, host counts, host networks, image info.
    pub cluster: Cluster,
    /// The pull secret; the API only tells whether there is one.
    #[serde(default)]
    pub pull_secret: Secret,
    /// Address family that comes first in every network list, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_ip_stack: Option<IpStack>,
    /// When the machine networks last changed; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_network_cidr_updated_at: Option<Timestamp>,
    /// Stored text of the settings that a user interface keeps with the cluster.
    #[serde(default)]
    pub ui_settings: String,
    /// JSON list of host validations to ignore; empty: not set.
    #[serde(default)]
    pub ignored_host_validations: String,
    /// JSON list of cluster validations to ignore; empty: not set.
    #[serde(default)]
    pub ignored_cluster_validations: String,
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IpStack {
    #[serde(rename = "4")]
    V4,
    #[serde(rename = "6")]
    V6,
}
