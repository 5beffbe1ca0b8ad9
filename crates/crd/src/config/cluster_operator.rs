//! ClusterOperator: what of it is read.

use serde::{Deserialize, Serialize};

use crate::config::common::StatusCondition;
use crate::resource::{Empty, resource};

resource! {
    /// An operator of the cluster. Only the fields that are read here.
    ClusterOperator, "config.openshift.io", "v1", "clusteroperators", Cluster {
        spec: Empty,
        status: ClusterOperatorStatus,
    }
}

/// How it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterOperatorStatus {
    /// What is known about the object, one entry per type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<StatusCondition>,
    /// Versions of what it runs; that of the operator is named `operator`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<OperandVersion>,
}

/// A version of what an operator runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OperandVersion {
    pub name: String,
    /// Version.
    pub version: String,
}
