//! A host is heard of: what of it is worth writing down, and when silence counts.

use assisted_wire::host::HostStatus::{self, Unbinding};
use jiff::{SignedDuration, Timestamp};

use super::record::HostRecord;
use super::state;
use crate::facts::HostFacts;
use crate::settings::Settings;
use crate::validation::host::connected_until;

/// The first moment at which a silent host counts as disconnected; `None`: never in this state, or it does already.
pub fn disconnects_at(host: &HostFacts, settings: &Settings) -> Option<Timestamp> {
    let status = host.record.host.status;
    let watched =
        (state::DISCOVERY.contains(&status) || state::POOL.contains(&status) || status == Unbinding)
            && !wakes_on_check_in(status);
    let until = if watched { connected_until(host, settings)? } else { return None };
    // The limit itself is still in time.
    until.checked_add(SignedDuration::from_millis(1)).ok()
}

/// Whether the next sign of life brings the host out of its state.
pub fn wakes_on_check_in(status: HostStatus) -> bool {
    matches!(status, HostStatus::Disconnected | HostStatus::DisconnectedUnbound)
}

/// What a poll tells besides being a sign of life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told<'a> {
    /// Version of the agent, if it tells.
    pub agent_version: Option<&'a str>,
    /// The host's clock, seconds since 1970; 0: it does not tell.
    pub clock: i64,
}

/// A difference between two measured offsets that is mere jitter of the network, seconds.
const JITTER: i64 = 5;

/// The host's record after a poll, if the poll told anything new.
pub fn check_in(host: &HostFacts, told: &Told<'_>, now: Timestamp) -> Option<HostRecord> {
    let mut record = host.record.clone();
    if let Some(version) = told.agent_version.filter(|version| !version.is_empty()) {
        version.clone_into(&mut record.host.discovery_agent_version);
    }
    if told.clock != 0 {
        let ahead = told.clock.saturating_sub(now.as_second());
        let known = record.clock_ahead_seconds;
        if known.is_none_or(|known| known.abs_diff(ahead) > JITTER.unsigned_abs()) {
            record.clock_ahead_seconds = Some(ahead);
        }
    }
    (record != host.record).then_some(record)
}
