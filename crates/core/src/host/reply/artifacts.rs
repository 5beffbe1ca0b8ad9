//! An installed host was to get what it takes to boot the discovery image again (agent-protocol §2.4.16).

use super::Draft;
use crate::host::transition::{ARTIFACTS_FAILED, ARTIFACTS_READY, Effect};
use crate::host::{reset, state};
use crate::machine::choose;

/// Notes whether it did; nothing when the host is not on its way any more.
pub(super) fn downloaded(draft: &mut Draft<'_>, success: bool) {
    let table = if success { ARTIFACTS_READY } else { ARTIFACTS_FAILED };
    let status = draft.host.record.host.status;
    let Some(rule) = choose(table, &status, &|_| false) else { return };
    if rule.effects.contains(&Effect::LeaveCluster) {
        reset::leave_cluster(&mut draft.host);
    }
    let (to, info) = (rule.to.unwrap_or(status), rule.info.unwrap_or_default());
    state::enter(&mut draft.host, to, info, draft.facts.now, &mut draft.events);
}
