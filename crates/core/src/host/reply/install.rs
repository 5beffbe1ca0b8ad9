//! The agent ran the installer.

use assisted_wire::step::StepReply;

use super::Draft;
use crate::host::state;
use crate::host::transition::INSTALL_FAILED;
use crate::machine::choose;

/// Exit code and message of a step that was given twice: the installer runs already.
const RUNS_ALREADY: (i64, &str) = (125, "the container name \"assisted-installer\" is already in use");

/// Notes that the installer could not be run.
pub(super) fn failed(draft: &mut Draft<'_>, reply: &StepReply) {
    let (code, message) = RUNS_ALREADY;
    if reply.exit_code == code && reply.error.contains(message) {
        return;
    }
    let status = draft.host.record.host.status;
    let Some(rule) = choose(INSTALL_FAILED, &status, &|_| false) else { return };
    let (to, info) = (rule.to.unwrap_or(status), rule.info.unwrap_or_default());
    state::enter(&mut draft.host, to, info, draft.facts.now, &mut draft.events);
}
