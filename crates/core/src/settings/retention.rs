//! How long things are kept, and how events flow.

use std::time::Duration;

use super::topic::topic;

const fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

topic! {
    /// How long things are kept.
    Retention {
        /// Whether clusters that nobody touches are deregistered.
        enable_deregister_inactive: bool = true, "ENABLE_DEREGISTER_INACTIVE_GC";
        /// How often they are looked for.
        deregister_worker_interval: Duration = hours(1), "DEREGISTER_WORKER_INTERVAL";
        /// After how long without a touch.
        deleted_inactive_after: Duration = hours(480), "DELETED_INACTIVE_AFTER";
        /// Most clusters deregistered at a time.
        max_clusters_per_interval: usize = 100, "MAX_GC_CLUSTERS_PER_INTERVAL";
        /// Whether deregistered clusters are deleted for good.
        enable_delete_unregistered: bool = true, "ENABLE_DELETE_UNREGISTER_GC";
        /// How often they are looked for.
        deletion_worker_interval: Duration = hours(1), "DELETION_WORKER_INTERVAL";
        /// How long after their deregistration.
        deleted_unregistered_after: Duration = hours(72), "DELETED_UNREGISTERED_AFTER";
        /// How often infra-envs that nobody touches are looked for.
        infraenv_deletion_worker_interval: Duration = hours(1), "INFRAENV_DELETION_WORKER_INTERVAL";
        /// After how long without a touch they are deleted.
        infraenv_deleted_inactive_after: Duration = hours(480), "INFRAENV_DELETED_INACTIVE_AFTER";
        /// Most infra-envs deleted at a time.
        max_infraenvs_per_interval: usize = 100, "MAX_GC_INFRAENVS_PER_INTERVAL";
    }
}

topic! {
    /// Events.
    Events {
        /// How often an event may repeat, a JSON map of names to durations; empty: as often as it happens.
        rate_limits: String = String::new(), "EVENT_RATE_LIMITS";
    }
}
