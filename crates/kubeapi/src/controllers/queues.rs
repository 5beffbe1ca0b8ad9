//! The objects that are to be looked at, a queue for each kind.

use std::sync::Arc;
use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_core::model::object_key::ObjectKey;
use assisted_reconcile::{Driver, MemoryQueue, MemoryRow, Policy, Reconciler, Status};
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

/// Objects of a kind that are worked on at once.
const AT_ONCE: usize = 8;
/// How long an attempt may take: an image of a registry far away may be read in it.
const TIME_LIMIT: Duration = Duration::from_secs(180);
/// Longer than an attempt may take: one replica works on these rows, and no lease needs to run out.
const LEASE: SignedDuration = SignedDuration::from_secs(600);
/// Between a failure and the next attempt.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(300), jitter: Jitter::Half };

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
        let queue = || Arc::new(Queue::new(LEASE, Timestamp::now));
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

/// Has an object looked at, at once.
pub(super) fn mark(queue: &Queue, key: ObjectKey) {
    queue.mark(key, Timestamp::now());
}

/// Works on a queue until stopped. A failure is tried again, later each time, and nothing is ever set aside: what stands in the
/// way is shown in the object.
pub(super) async fn work<R>(name: &'static str, queue: &Arc<Queue>, reconciler: R, stop: &CancellationToken)
where
    R: Reconciler<Row = Row>,
{
    let policy = Policy {
        at_once: AT_ONCE,
        time_limit: TIME_LIMIT,
        keep: TIME_LIMIT,
        backoff: BACKOFF,
        most_failures: u32::MAX,
        most_crashes: u32::MAX,
        aside: BACKOFF.longest,
        longest_rest: Duration::from_secs(3600),
        shortest_rest: Duration::from_millis(5),
        give_back: false,
    };
    let status = Arc::new(Status::new(name));
    Driver::new(Arc::clone(queue), Arc::new(reconciler), policy, status).run(stop.clone()).await;
}
