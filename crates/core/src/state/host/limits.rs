//! How long a host may take, state by state and stage by stage (state-machines §4.3).

use std::time::Duration;

use assisted_wire::cluster::LogsState;
use assisted_wire::host::{Host, HostStage};
use jiff::Timestamp;

use crate::model::deadline::after;
use crate::policy::{HostStageTimeouts, Policy};

/// From the order to install until the installer is heard of.
pub const START: Duration = Duration::from_secs(20 * 60);

/// For an installed machine to go back into the pool.
pub const RECLAIM: Duration = Duration::from_secs(60 * 60);

/// For the only node of a cluster to come back from its reboot: it brings up the whole cluster meanwhile.
pub const SINGLE_NODE_REBOOT: Duration = Duration::from_secs(80 * 60);

/// How old the clock of a stage may get while it is held back.
pub const HELD_BACK: Duration = Duration::from_secs(60);

/// What the preparation of a host takes besides its checks.
const PREPARATION_MARGIN: Duration = Duration::from_secs(60);

/// The longest that a check before an installation may take.
pub fn checks(policy: &Policy) -> Duration {
    policy.hosts.disk_check_timeout.max(policy.hosts.image_availability_timeout)
}

/// For all checks before an installation: no less than these may take themselves.
pub fn preparation(policy: &Policy) -> Duration {
    let checks = checks(policy).saturating_add(PREPARATION_MARGIN);
    policy.timeouts.prepare_for_installation_host.max(checks)
}

/// For a stage. The limit in the text is that of the settings, even where a longer one is kept.
pub fn of_stage(policy: &HostStageTimeouts, stage: Option<HostStage>, is_single_node: bool) -> Duration {
    if is_single_node && stage == Some(HostStage::Rebooting) {
        return SINGLE_NODE_REBOOT;
    }
    policy.of(stage)
}

/// The last moment at which a failed host's logs are still awaited; `None`: they are not awaited (state-machines §4.10).
pub fn logs_until(policy: &Policy, host: &Host) -> Option<Timestamp> {
    let (pending, collection) = (policy.timeouts.host_log_pending, policy.timeouts.host_log_collection);
    let (started, collected) = (host.logs_started_at, host.logs_collected_at);
    match host.logs_info.unwrap_or(LogsState::Empty) {
        LogsState::Empty if started.is_zero() => Some(after(host.status_updated_at.0, pending)),
        LogsState::Requested if collected.is_zero() => Some(after(started.0, collection)),
        LogsState::Requested => Some(after(collected.0, collection)),
        LogsState::Collecting => Some(after(collected.0, pending)),
        LogsState::Empty | LogsState::Completed | LogsState::Timeout => None,
    }
}

/// A limit in the form that texts have it: `1h30m0s`, `40m0s`, `90ms`.
pub fn text(limit: Duration) -> String {
    let (seconds, nanos) = (limit.as_secs(), limit.subsec_nanos());
    let fraction = |digits: String| format!(".{digits}").trim_end_matches(['0', '.']).to_owned();
    if seconds == 0 {
        let (value, unit, rest) = match nanos {
            0 => return "0s".to_owned(),
            1_000_000.. => (nanos / 1_000_000, "ms", format!("{:06}", nanos % 1_000_000)),
            1_000.. => (nanos / 1_000, "µs", format!("{:03}", nanos % 1_000)),
            _ => (nanos, "ns", String::new()),
        };
        return format!("{value}{}{unit}", fraction(rest));
    }
    let tail = format!("{}{}s", seconds % 60, fraction(format!("{nanos:09}")));
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => tail,
        (0, minutes) => format!("{minutes}m{tail}"),
        (hours, minutes) => format!("{hours}h{minutes}m{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (millis, expected) in [
            (0, "0s"),
            (90, "90ms"),
            (1_500, "1.5s"),
            (40 * 60_000, "40m0s"),
            (61_001, "1m1.001s"),
            (3_600_000, "1h0m0s"),
            (24 * 3_600_000, "24h0m0s"),
            (5_400_000, "1h30m0s"),
        ] {
            assert_eq!(text(Duration::from_millis(millis)), expected);
        }
        assert_eq!(text(Duration::from_micros(1_500)), "1.5ms");
        assert_eq!(text(Duration::from_nanos(1_500)), "1.5µs");
    }

    #[test]
    fn preparation_outlasts_its_checks() {
        let mut policy = Policy::default();
        assert_eq!(preparation(&policy), Duration::from_secs(17 * 60));
        policy.timeouts.prepare_for_installation_host = Duration::from_secs(3600);
        assert_eq!(preparation(&policy), Duration::from_secs(3600));
        policy.hosts.disk_check_timeout = Duration::from_secs(7200);
        assert_eq!(preparation(&policy), Duration::from_secs(7260));
    }

    #[test]
    fn stages() {
        let policy = Policy::default().host_stages;
        let minutes = |stage, single| of_stage(&policy, stage, single).as_secs() / 60;
        for (stage, expected) in [
            (HostStage::StartingInstallation, 30),
            (HostStage::Installing, 60),
            (HostStage::WritingImageToDisk, 30),
            (HostStage::CopyingRegistryDataToDisk, 90),
            (HostStage::WaitingForControlPlane, 60),
            (HostStage::WaitingForBootkube, 60),
            (HostStage::WaitingForController, 60),
            (HostStage::Rebooting, 40),
            (HostStage::WaitingForIgnition, 24 * 60),
            (HostStage::Configuring, 60),
            (HostStage::Joined, 60),
            (HostStage::Done, 60),
        ] {
            assert_eq!(minutes(Some(stage), false), expected, "{stage}");
        }
        assert_eq!(minutes(None, false), 60);
        assert_eq!(minutes(Some(HostStage::Rebooting), true), 80);
        assert_eq!(minutes(Some(HostStage::Configuring), true), 60);
    }
}
