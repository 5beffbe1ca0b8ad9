//! ManagedCluster: what of it is read.

use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// A cluster that a hub manages. Only the fields that are read here.
    ManagedCluster, "cluster.open-cluster-management.io", "v1", "managedclusters", Cluster {
        spec: ManagedClusterSpec,
    }
}

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// Whether the hub takes the cluster in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_accepts_client: Option<bool>,
}
