//! Logs of the cluster's controller: how long their collection may take (state-machines §3.11).

use assisted_wire::cluster::{Cluster, LogsState};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::timeouts::end;
use crate::policy::Timeouts;

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
}
