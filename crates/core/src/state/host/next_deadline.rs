//! What the clock alone will change about a host.

use assisted_wire::host::HostStatus::*;
use jiff::{SignedDuration, Timestamp};

use super::check_in::disconnects_at;
use super::cluster_context::ClusterContext;
use super::condition::Limit;
use super::limits;
use super::rule_context::RuleContext;
use crate::model::deadline;
use crate::model::facts::HostFacts;

/// The next moment at which the clock alone could change the host; `None`: never.
pub fn next_check(host: &HostFacts, context: &ClusterContext) -> Option<Timestamp> {
    let silent_at = disconnects_at(host, &context.policy).filter(|at| *at > context.now);
    silent_at.into_iter().chain(due_at(host, context)).min()
}

/// As [`next_check`], but for an agent that is heard often enough.
pub fn due_at(host: &HostFacts, context: &ClusterContext) -> Option<Timestamp> {
    let last = last_moment(host, context)?;
    // The limit itself is still in time. What is past has had its effect, or waits for something else to change.
    last.checked_add(SignedDuration::from_millis(1)).ok().filter(|at| *at > context.now)
}

/// The last moment at which nothing changes.
fn last_moment(host: &HostFacts, context: &ClusterContext) -> Option<Timestamp> {
    let fields = &host.record.host;
    let in_state =
        |limit: Limit| Some(deadline::after(fields.status_updated_at.0, limit.of(&context.policy)));
    match fields.status {
        PreparingForInstallation => in_state(Limit::Preparation),
        Installing => in_state(Limit::Start),
        InstallingInProgress => in_stage(host, context),
        InstallingPendingUserAction => in_state(Limit::UserAction),
        Reclaiming | ReclaimingRebooting => in_state(Limit::Reclaim),
        Error | Cancelled => limits::logs_until(&context.policy, fields),
        _ => None,
    }
}

fn in_stage(host: &HostFacts, context: &ClusterContext) -> Option<Timestamp> {
    let rule_context = RuleContext { host, results: None, context: Some(context) };
    let since = host.record.host.progress.as_ref()?.stage_updated_at;
    if since.is_zero() {
        return None;
    }
    let limit = if rule_context.is_stage_held_back() {
        limits::HELD_BACK
    } else {
        limits::of_stage(&context.policy.host_stages, rule_context.stage(), context.is_single_node)
    };
    Some(deadline::after(since.0, limit))
}
