//! An installed host was to get what it takes to boot the discovery image again (agent-protocol §2.4.16).

use super::WorkingCopy;
use crate::state::host::forget;
use crate::state::host::transition::{ARTIFACTS_FAILED, ARTIFACTS_READY, Effect, follow, rule_of};

/// Notes whether it did; nothing when the host is not on its way any more.
pub(super) fn downloaded(draft: &mut WorkingCopy<'_>, success: bool) {
    let table = if success { ARTIFACTS_READY } else { ARTIFACTS_FAILED };
    let Some(rule) = rule_of(table, &draft.host) else { return };
    if rule.effects.contains(&Effect::LeaveCluster) {
        forget::leave_cluster(&mut draft.host);
    }
    follow(rule, &mut draft.host, draft.facts.now, &mut draft.events);
}
