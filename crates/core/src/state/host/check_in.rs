//! A host is heard of: what of it is worth writing down, and when silence counts.

use assisted_wire::host::HostStatus::{self, *};
use assisted_wire::host::MediaStatus;
use jiff::{SignedDuration, Timestamp};

use super::state;
use crate::model::facts::HostFacts;
use crate::model::host::HostRecord;
use crate::policy::Policy;
use crate::validation::host::connected_until;

/// The first moment at which a silent host counts as disconnected; `None`: never in this state, or it does already.
pub fn disconnects_at(host: &HostFacts, policy: &Policy) -> Option<Timestamp> {
    // One that counts as disconnected only because it lost its media is heard yet; that ends when it falls silent.
    let is_gone = wakes_on_check_in(host) && host.record.host.media_status != Some(MediaStatus::Disconnected);
    if !is_watched(host.record.host.status) || is_gone {
        return None;
    }
    // The limit itself is still in time.
    connected_until(host, policy)?.checked_add(SignedDuration::from_millis(1)).ok()
}

/// Whether silence means anything in a state.
fn is_watched(status: HostStatus) -> bool {
    let prepares = matches!(status, PreparingForInstallation | PreparingSuccessful | PreparingFailed);
    let installs = matches!(status, Installing | InstallingInProgress);
    prepares
        || installs
        || status == Unbinding
        || state::DISCOVERY.contains(&status)
        || state::POOL.contains(&status)
}

/// Whether the next sign of life changes the host.
pub fn wakes_on_check_in(host: &HostFacts) -> bool {
    let fields = &host.record.host;
    match fields.status {
        Disconnected | DisconnectedUnbound => true,
        Installing | InstallingInProgress => fields.connection_timed_out,
        _ => false,
    }
}

/// What a poll reports besides that the agent is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckInReport<'a> {
    /// Version of the agent, if it reports one.
    pub agent_version: Option<&'a str>,
    /// The host's clock, seconds since 1970; 0: it does not report one.
    pub clock: i64,
}

/// A difference between two measured offsets that is mere jitter of the network, seconds.
const JITTER: i64 = 5;

/// The host's record after a poll, if the poll reported anything new.
pub fn check_in(host: &HostFacts, report: &CheckInReport<'_>, now: Timestamp) -> Option<HostRecord> {
    let mut record = host.record.clone();
    if let Some(version) = report.agent_version.filter(|version| !version.is_empty()) {
        version.clone_into(&mut record.host.discovery_agent_version);
    }
    if report.clock != 0 {
        let ahead = report.clock.saturating_sub(now.as_second());
        let known = record.clock_ahead_seconds;
        if known.is_none_or(|known| known.abs_diff(ahead) > JITTER.unsigned_abs()) {
            record.clock_ahead_seconds = Some(ahead);
        }
    }
    (record != host.record).then(|| record.into_inner())
}
