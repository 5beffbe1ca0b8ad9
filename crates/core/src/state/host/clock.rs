//! What the clock alone will change about a host.

use assisted_wire::host::HostStatus::*;
use jiff::{SignedDuration, Timestamp};

use super::check_in::disconnects_at;
use super::condition::Limit;
use super::limits;
use super::situation::Situation;
use super::surroundings::Surroundings;
use crate::model::deadline;
use crate::model::facts::HostFacts;

/// The next moment at which the clock alone could change the host; `None`: never.
pub fn next_check(host: &HostFacts, around: &Surroundings) -> Option<Timestamp> {
    let silent_at = disconnects_at(host, &around.policy).filter(|at| *at > around.now);
    silent_at.into_iter().chain(due_at(host, around)).min()
}

/// As [`next_check`], but for an agent that is heard often enough.
pub fn due_at(host: &HostFacts, around: &Surroundings) -> Option<Timestamp> {
    let last = last_moment(host, around)?;
    // The limit itself is still in time. What is past has had its effect, or waits for something else to change.
    last.checked_add(SignedDuration::from_millis(1)).ok().filter(|at| *at > around.now)
}

/// The last moment at which nothing changes.
fn last_moment(host: &HostFacts, around: &Surroundings) -> Option<Timestamp> {
    let fields = &host.record.host;
    let in_state = |limit: Limit| Some(deadline::after(fields.status_updated_at.0, limit.of(&around.policy)));
    match fields.status {
        PreparingForInstallation => in_state(Limit::Preparation),
        Installing => in_state(Limit::Start),
        InstallingInProgress => in_stage(host, around),
        InstallingPendingUserAction => in_state(Limit::UserAction),
        Reclaiming | ReclaimingRebooting => in_state(Limit::Reclaim),
        Error | Cancelled => limits::logs_until(&around.policy, fields),
        _ => None,
    }
}

fn in_stage(host: &HostFacts, around: &Surroundings) -> Option<Timestamp> {
    let situation = Situation { host, results: None, around: Some(around) };
    let since = host.record.host.progress.as_ref()?.stage_updated_at;
    if since.is_zero() {
        return None;
    }
    let limit = if situation.is_stage_held_back() {
        limits::HELD_BACK
    } else {
        limits::of_stage(&around.policy.host_stages, situation.stage(), around.is_single_node)
    };
    Some(deadline::after(since.0, limit))
}
