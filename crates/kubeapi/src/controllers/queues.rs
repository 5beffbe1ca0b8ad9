//! The objects that are to be looked at, a queue for each kind.

use std::sync::Arc;

use assisted_core::model::object_key::ObjectKey;
use assisted_reconcile::objects::queue;
pub(super) use assisted_reconcile::objects::{mark, work};
use assisted_reconcile::{MemoryQueue, MemoryRow};

/// Rows by namespace and name.
pub(super) type Queue = MemoryQueue<ObjectKey>;

/// A row of a queue.
pub(super) type Row = MemoryRow<ObjectKey>;

/// All queues.
#[derive(Debug)]
pub(super) struct Queues {
    /// ClusterDeployments.
    pub(super) clusters: Arc<Queue>,
    /// AgentClusterInstalls.
    pub(super) installs: Arc<Queue>,
    pub(super) infra_envs: Arc<Queue>,
    pub(super) agents: Arc<Queue>,
    /// Agents, about their labels by AgentClassifications.
    pub(super) agent_labels: Arc<Queue>,
    /// AgentClassifications.
    pub(super) classifications: Arc<Queue>,
    /// BareMetalHosts.
    pub(super) bare_metal_hosts: Arc<Queue>,
    pub(super) preprovisioning_images: Arc<Queue>,
    /// ClusterDeployments, for what is to be done in their clusters.
    pub(super) spokes: Arc<Queue>,
}

impl Queues {
    /// Empty queues.
    pub(super) fn new() -> Self {
        Self {
            clusters: queue(),
            installs: queue(),
            infra_envs: queue(),
            agents: queue(),
            agent_labels: queue(),
            classifications: queue(),
            bare_metal_hosts: queue(),
            preprovisioning_images: queue(),
            spokes: queue(),
        }
    }
}
