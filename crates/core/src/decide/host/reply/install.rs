//! The agent ran the installer.

use assisted_wire::step::StepReply;

use super::WorkingCopy;
use crate::state::host::transition::{INSTALL_FAILED, follow, rule_of};

/// Exit code and message of a step that was given twice: the installer runs already.
const RUNS_ALREADY: (i64, &str) = (125, "the container name \"assisted-installer\" is already in use");

/// Notes that the installer could not be run.
pub(super) fn failed(draft: &mut WorkingCopy<'_>, reply: &StepReply) {
    let (code, message) = RUNS_ALREADY;
    if reply.exit_code == code && reply.error.contains(message) {
        return;
    }
    if let Some(rule) = rule_of(INSTALL_FAILED, &draft.host) {
        follow(rule, &mut draft.host, draft.facts.now, &mut draft.events);
    }
}
