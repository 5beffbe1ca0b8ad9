//! What takes long or leaves the process: asked for by the domain as a value, done by a worker.
//!
//! Each is idempotent, and is done again until it succeeds or reports its failure. Actions of one cluster are done in the
//! order in which they were asked for: what a reset deletes must not be what the next installation generated.

use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Work outside the database that a decision asks for; it is queued in the transaction of the decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Generate what the hosts of a cluster are installed with: additional manifests, install config, Ignition configs,
    /// kubeconfig.
    ///
    /// Its outcome comes back through [`crate::decide::install::generated`], with the attempt that is named here.
    Generate { cluster_id: ClusterId, attempt: Attempt },
    /// Make the DNS records of a cluster, whose domain the service manages.
    ///
    /// Its outcome comes back through [`crate::decide::dns::made`], with the attempt that is named here.
    CreateDnsRecords { cluster_id: ClusterId, attempt: Attempt },
    /// Delete the DNS records that were made for a cluster.
    DeleteDnsRecords { cluster_id: ClusterId },
    /// Tell the account service what became of a cluster of which it keeps a subscription.
    ///
    /// Its outcome comes back through [`crate::decide::subscription::told`], with the attempt that is named here.
    UpdateSubscription { cluster_id: ClusterId, attempt: Attempt, update: SubscriptionUpdate },
    /// Delete all that was generated for a cluster: everything stored for it but users' manifests, their marks, and
    /// logs.
    DeleteGenerated { cluster_id: ClusterId },
    /// Delete the logs of an earlier installation.
    DeleteLogs { cluster_id: ClusterId },
    /// Delete a cluster that was deregistered long ago, for good: all that is stored for it, and its record.
    DeleteCluster { cluster_id: ClusterId },
}

impl Action {
    /// A name for logs and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Generate { .. } => "generate",
            Self::CreateDnsRecords { .. } => "create_dns_records",
            Self::DeleteDnsRecords { .. } => "delete_dns_records",
            Self::UpdateSubscription { .. } => "update_subscription",
            Self::DeleteGenerated { .. } => "delete_generated",
            Self::DeleteLogs { .. } => "delete_logs",
            Self::DeleteCluster { .. } => "delete_cluster",
        }
    }

    /// The cluster that it is done for.
    pub const fn cluster_id(&self) -> ClusterId {
        match self {
            Self::Generate { cluster_id, .. }
            | Self::CreateDnsRecords { cluster_id, .. }
            | Self::DeleteDnsRecords { cluster_id }
            | Self::UpdateSubscription { cluster_id, .. }
            | Self::DeleteGenerated { cluster_id }
            | Self::DeleteLogs { cluster_id }
            | Self::DeleteCluster { cluster_id } => *cluster_id,
        }
    }
}

/// What the account service is told while an installation ends (service-api §14.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionUpdate {
    /// The address of the cluster's console.
    ConsoleUrl,
    /// The cluster is installed.
    Active,
}

impl SubscriptionUpdate {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 2] = [Self::ConsoleUrl, Self::Active];
}

/// One attempt to install a cluster, by its beginning: an outcome that belongs to another attempt is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(
    /// Milliseconds since 1970, as exact as moments are stored.
    i64,
);

impl From<Timestamp> for Attempt {
    fn from(started_at: Timestamp) -> Self {
        Self(started_at.as_millisecond())
    }
}
