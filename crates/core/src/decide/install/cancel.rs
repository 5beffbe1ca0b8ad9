//! A user cancels the installation (state-machines §3.5).

use crate::decide::host;
use crate::decide::refresh::WorkingCopy;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::model::refusal_with_events::RefusalWithEvents;
use crate::state::cluster::refresh::request;
use crate::state::cluster::transition::CANCEL;

use super::wrong_state;

/// Cancels the installation of the cluster and of each host.
///
/// # Errors
///
/// `Conflict` when cluster or any host is in another state. Nothing is changed then, but an event says what was tried
/// (state-machines §11).
pub fn cancel(facts: &Facts) -> Result<Decision, RefusalWithEvents> {
    let mut draft = WorkingCopy::new(facts);
    match attempt(&mut draft) {
        Ok(()) => Ok(draft.unreconciled()),
        Err(refusal) => {
            let mut events = draft.events;
            if let Some(record) = &facts.cluster {
                let spec = catalogue::CANCEL_INSTALLATION_FAILED;
                events.push(spec.of_cluster(record.cluster.id, &[("error", &refusal.reason)]));
            }
            Err(RefusalWithEvents { refusal, events })
        }
    }
}

fn attempt(draft: &mut WorkingCopy<'_>) -> Result<(), Refusal> {
    if !request(&mut draft.facts, CANCEL, &mut draft.events) {
        return Err(wrong_state(&draft.facts, "cancelled"));
    }
    let (now, events) = (draft.facts.now, &mut draft.events);
    draft.facts.hosts.iter_mut().try_for_each(|host| host::cancel::cancel(host, now, events))
}
