//! Logs of the cluster's controller: how far their collection is, and how long it may take (state-machines §3.11).

use assisted_wire::cluster::{Cluster, LogsState};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::timeouts::end;
use crate::event::catalogue;
use crate::facts::Facts;
use crate::refresh::{Draft, Refresh};
use crate::settings::Timeouts;

/// The last moment at which the logs of a failed installation are in time; `None`: they came, or are given up.
pub(crate) fn deadline(cluster: &Cluster, limits: &Timeouts) -> Option<Timestamp> {
    let (started, collected) = (cluster.controller_logs_started_at, cluster.controller_logs_collected_at);
    match cluster.logs_info.unwrap_or(LogsState::Empty) {
        LogsState::Empty if started.is_zero() => Some(end(cluster.status_updated_at, limits.log_pending)),
        LogsState::Requested if collected.is_zero() => Some(end(started, limits.log_collection)),
        LogsState::Requested | LogsState::Collecting => Some(end(collected, limits.log_collection)),
        LogsState::Empty | LogsState::Completed | LogsState::Timeout => None,
    }
}

/// The controller tells how far the collection of logs is.
pub fn progress(facts: &Facts, state: LogsState) -> Refresh {
    let mut draft = Draft::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        record.cluster.logs_info = Some(state);
        if state == LogsState::Requested {
            record.cluster.controller_logs_started_at = facts.now.into();
        }
    }
    draft.settled()
}

/// The controller's logs were stored.
pub fn uploaded(facts: &Facts) -> Refresh {
    let mut draft = Draft::new(facts);
    if let Some(record) = &mut draft.facts.cluster {
        if record.cluster.controller_logs_collected_at.is_zero() {
            draft.events.push(catalogue::CLUSTER_LOGS_UPLOADED.of_cluster(record.cluster.id, &[]));
        }
        record.cluster.controller_logs_collected_at = facts.now.into();
        record.cluster.logs_info = Some(LogsState::Collecting);
    }
    draft.settled()
}

/// Forgets the logs of an earlier installation.
pub(crate) fn forget(cluster: &mut Cluster) {
    cluster.logs_info = None;
    cluster.controller_logs_started_at = DateTime::ZERO;
    cluster.controller_logs_collected_at = DateTime::ZERO;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing;

    #[test]
    fn deadlines() {
        let limits = Timeouts::default();
        let at = |text: &str| DateTime(text.parse().unwrap());
        let mut cluster = testing::cluster();
        cluster.status_updated_at = at("2026-01-01T00:00:00Z");
        let tell = |cluster: &Cluster| deadline(cluster, &limits).map(|moment| moment.to_string());
        assert_eq!(tell(&cluster).as_deref(), Some("2026-01-01T00:10:00Z"));
        cluster.controller_logs_started_at = at("2026-01-01T01:00:00Z");
        assert_eq!(tell(&cluster), None);
        cluster.logs_info = Some(LogsState::Requested);
        assert_eq!(tell(&cluster).as_deref(), Some("2026-01-01T02:00:00Z"));
        cluster.controller_logs_collected_at = at("2026-01-01T01:30:00Z");
        assert_eq!(tell(&cluster).as_deref(), Some("2026-01-01T02:30:00Z"));
        cluster.logs_info = Some(LogsState::Collecting);
        assert_eq!(tell(&cluster).as_deref(), Some("2026-01-01T02:30:00Z"));
        for state in [LogsState::Completed, LogsState::Timeout] {
            cluster.logs_info = Some(state);
            assert_eq!(tell(&cluster), None);
        }
    }

    #[test]
    fn told_and_stored() {
        let mut facts = testing::facts(0);
        let asked = progress(&facts, LogsState::Requested).cluster.unwrap();
        assert_eq!(asked.cluster.logs_info, Some(LogsState::Requested));
        assert_eq!(asked.cluster.controller_logs_started_at.0, facts.now);
        facts.cluster = Some(asked);
        let stored = uploaded(&facts);
        assert_eq!(stored.events.iter().filter(|event| event.name == "cluster_logs_uploaded").count(), 1);
        let record = stored.cluster.unwrap();
        assert_eq!(record.cluster.logs_info, Some(LogsState::Collecting));
        facts.cluster = Some(record);
        assert!(
            uploaded(&facts).events.iter().all(|event| event.name != "cluster_logs_uploaded"),
            "told once"
        );
    }
}
