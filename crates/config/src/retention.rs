//! How long things are kept, and how events flow.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::duration::{format_duration, parse_duration};
use crate::topic::topic;
use crate::value::{Value, excerpt};

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
        /// Whether deregistered clusters are deleted for good, and events of what is not there.
        enable_delete_unregistered: bool = true, "ENABLE_DELETE_UNREGISTER_GC";
        /// How often they are looked for.
        deletion_worker_interval: Duration = hours(1), "DELETION_WORKER_INTERVAL";
        /// How long after their deregistration; events of what is not there, so long after they were told.
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
        /// The shortest pause between two events of a name about the same object; empty: none but those built in.
        rate_limits: RateLimits = RateLimits::default(), "EVENT_RATE_LIMITS";
        /// To decide about a cluster takes so long before that leaves an event.
        slow_cluster: Duration = Duration::from_secs(1), "SLOW_CLUSTER_MONITOR_LOG_THRESHOLD";
        /// The same for a host that no cluster has.
        slow_host: Duration = Duration::from_secs(1), "SLOW_HOST_MONITOR_LOG_THRESHOLD";
    }
}

/// Pauses by the name of the event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits(pub BTreeMap<String, Duration>);

impl Value for RateLimits {
    const KIND: &'static str =
        r#"a JSON map of events to durations such as {"host_registration_succeeded":"10m"}"#;

    fn parse(text: &str) -> Result<Self, String> {
        let limits: BTreeMap<String, String> = serde_json::from_str(text)
            .map_err(|error| format!("{} is no such map: {error}", excerpt(text)))?;
        let read = |(name, pause): (String, String)| match parse_duration(&pause) {
            Ok(pause) => Ok((name, pause)),
            Err(error) => Err(format!("{name}: {error}")),
        };
        limits.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    fn show(&self) -> String {
        let limits: BTreeMap<_, _> =
            self.0.iter().map(|(name, pause)| (name, format_duration(*pause))).collect();
        if limits.is_empty() { String::new() } else { serde_json::json!(limits).to_string() }
    }

    fn empty() -> Option<Self> {
        Some(Self::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limits() {
        let read = RateLimits::parse(r#"{"b":"90s","a":"1h"}"#).unwrap();
        assert_eq!(read.0["b"], Duration::from_secs(90));
        assert_eq!(RateLimits::parse(&read.show()), Ok(read));
        for text in ["nonsense", "[]", r#"{"a":1}"#, r#"{"a":"never"}"#, r#"{"a":"-1s"}"#] {
            RateLimits::parse(text).unwrap_err();
        }
    }
}
