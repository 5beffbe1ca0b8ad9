//! A user takes a host out, or in again. A disabled host is heard, but takes part in nothing.

use jiff::Timestamp;

use crate::model::decision::Decision;
use crate::model::facts::HostFacts;
use crate::model::refusal::Refusal;
use crate::model::refusal_with_events::RefusalWithEvents;
use crate::state::host::forget;
use crate::state::host::transition::{DISABLE, ENABLE, Effect, HostRule, follow, rule_of};

/// Takes a host out.
///
/// # Errors
///
/// `Conflict` unless the host waits for an installation.
pub fn disable_host(host: &HostFacts, now: Timestamp) -> Result<Decision, RefusalWithEvents> {
    run(DISABLE, host, "disabled", now)
}

/// Takes a disabled host in again: it is discovered anew.
///
/// # Errors
///
/// `Conflict` unless the host is disabled.
pub fn enable_host(host: &HostFacts, now: Timestamp) -> Result<Decision, RefusalWithEvents> {
    run(ENABLE, host, "enabled", now)
}

fn run(
    table: &'static [HostRule],
    host: &HostFacts,
    what: &str,
    now: Timestamp,
) -> Result<Decision, RefusalWithEvents> {
    let (id, status) = (host.record.host.id, host.record.host.status);
    let rule = rule_of(table, host)
        .ok_or_else(|| Refusal::conflict(format!("Host {id} is in {status} state, it cannot be {what}")))?;
    let (mut after, mut events) = (host.clone(), Vec::new());
    if rule.effects.contains(&Effect::Forget) {
        forget::forget(&mut after, false);
    }
    if rule.effects.contains(&Effect::GiveUpBootstrap) {
        after.record.host.bootstrap = false;
    }
    follow(rule, &mut after, now, &mut events);
    Ok(Decision::of_host(host, after, now, events))
}
