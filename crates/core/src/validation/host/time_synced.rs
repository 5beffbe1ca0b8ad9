//! `time-synced-between-host-and-service`: the host's clock is near enough to the service's for certificates to hold.

use jiff::Timestamp;

use super::View;
use crate::catalogue::hardware::{MAX_CLOCK_AHEAD_MINUTES, MAX_CLOCK_BEHIND_MINUTES};
use crate::model::outcome::Outcome;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(ahead) = view.host.record.clock_ahead_seconds else {
        return Outcome::awaits_report(
            "Missing host time, can't determine synchronization between host and service",
        );
    };
    let time = service_time(view.facts.now);
    let outcome = if ahead < -MAX_CLOCK_BEHIND_MINUTES * 60 {
        Outcome::failure(format!(
            "Host clock is not synchronized, service time is ahead of host's at least for \
             {MAX_CLOCK_BEHIND_MINUTES}.0 minutes, please configure an NTP server via DHCP. Service time: {time}"
        ))
    } else if ahead > MAX_CLOCK_AHEAD_MINUTES * 60 {
        Outcome::failure(format!(
            "Host clock is not synchronized, host time is ahead of service at least for \
             {MAX_CLOCK_AHEAD_MINUTES}.0 minutes, please configure an NTP server via DHCP. Service time: {time}"
        ))
    } else {
        return Outcome::success("Host clock is synchronized with service");
    };
    outcome
        .measured(format!("{ahead} s ahead of the service"))
        .required(format!("-{} to {} s", MAX_CLOCK_BEHIND_MINUTES * 60, MAX_CLOCK_AHEAD_MINUTES * 60))
        .remedy("Set the machine's clock, or add an NTP source that it reaches.")
}

/// A moment in the form that clients know from this message: UTC, fraction trimmed, zone twice.
fn service_time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%d %H:%M:%S%.f +0000 UTC").to_string()
}
