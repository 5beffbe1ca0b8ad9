//! `ntp-server-configured`: the hosts' clocks agree.

use assisted_wire::host::HostStatus;

use super::View;
use crate::model::outcome::Outcome;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let heard = view.facts.hosts.iter().filter(|host| {
        !matches!(
            host.record.host.status,
            HostStatus::Disconnected | HostStatus::ResettingPendingUserAction | HostStatus::Discovering
        )
    });
    let clocks: Vec<i64> = heard.filter_map(|host| host.record.clock_ahead_seconds).collect();
    let (first, last) = (clocks.iter().min().copied(), clocks.iter().max().copied());
    let gap = last.unwrap_or_default().saturating_sub(first.unwrap_or_default());
    let most = view.facts.policy.hardware.max_time_diff_minutes;
    let outcome = if gap / 60 <= most {
        Outcome::success("No ntp problems found")
    } else {
        Outcome::failure(format!(
            "Hosts' clocks are not synchronized (there's more than a {most} minutes gap between clocks), please configure \
             an NTP server via DHCP or set clocks manually."
        ))
        .remedy("Add an NTP source that all hosts reach to the cluster.")
    };
    outcome.measured(format!("{gap} s between the clocks")).required(format!("{most} min"))
}
