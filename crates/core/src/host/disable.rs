//! A user takes a host out, or in again. A disabled host is heard, but takes part in nothing.

use jiff::Timestamp;

use super::rejection::Rejection;
use super::reset::{self, Outcome};
use super::transition::{DISABLE, ENABLE, Effect, HostRule, follow, rule_of};
use crate::facts::HostFacts;
use crate::refusal::Refusal;

/// Takes a host out.
///
/// # Errors
///
/// 409 unless the host waits for an installation.
pub fn disable_host(host: &HostFacts, now: Timestamp) -> Result<Outcome, Rejection> {
    run(DISABLE, host, "disabled", now)
}

/// Takes a disabled host in again: it is discovered anew.
///
/// # Errors
///
/// 409 unless the host is disabled.
pub fn enable_host(host: &HostFacts, now: Timestamp) -> Result<Outcome, Rejection> {
    run(ENABLE, host, "enabled", now)
}

fn run(
    table: &'static [HostRule],
    host: &HostFacts,
    what: &str,
    now: Timestamp,
) -> Result<Outcome, Rejection> {
    let (id, status) = (host.record.host.id, host.record.host.status);
    let rule = rule_of(table, host)
        .ok_or_else(|| Refusal::conflict(format!("Host {id} is in {status} state, it cannot be {what}")))?;
    let (mut after, mut events) = (host.clone(), Vec::new());
    if rule.effects.contains(&Effect::Forget) {
        reset::forget(&mut after, false);
    }
    if rule.effects.contains(&Effect::GiveUpBootstrap) {
        after.record.host.bootstrap = false;
    }
    follow(rule, &mut after, now, &mut events);
    Ok(Outcome { host: reset::change(host, after, now), events })
}
