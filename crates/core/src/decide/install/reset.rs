//! A user resets the installation (state-machines §3.5).

use crate::decide::cluster::layering;
use crate::decide::refresh::WorkingCopy;
use crate::decide::{dns, host};
use crate::model::action::Action;
use crate::model::decision::Decision;
use crate::model::event::catalogue;
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::model::refusal_with_events::RefusalWithEvents;
use crate::state::cluster::refresh::request;
use crate::state::cluster::transition::RESET;

use super::wrong_state;

/// Resets the installation of the cluster and of each host, and forgets what was generated.
///
/// # Errors
///
/// `Conflict` when cluster or any host is in another state. Nothing is changed then, but an event says what was tried
/// (state-machines §11).
pub fn reset(facts: &Facts) -> Result<Decision, RefusalWithEvents> {
    let mut draft = WorkingCopy::new(facts);
    match attempt(&mut draft) {
        Ok(()) => {
            if let Some(cluster_id) = facts.cluster.as_ref().map(|record| record.cluster.id) {
                draft.actions.push(Action::DeleteGenerated { cluster_id });
                draft.actions.extend(facts.cluster.as_ref().and_then(dns::delete));
            }
            Ok(draft.unreconciled())
        }
        Err(refusal) => {
            let mut events = draft.events;
            if let Some(record) = &facts.cluster {
                let spec = catalogue::RESET_INSTALLATION_FAILED;
                events.push(spec.of_cluster(record.cluster.id, &[("error", &refusal.reason)]));
            }
            Err(RefusalWithEvents { refusal, events })
        }
    }
}

fn attempt(draft: &mut WorkingCopy<'_>) -> Result<(), Refusal> {
    if !request(&mut draft.facts, RESET, &mut draft.events) {
        return Err(wrong_state(&draft.facts, "reset"));
    }
    layering::forget(&mut draft.facts);
    let (now, events) = (draft.facts.now, &mut draft.events);
    draft.facts.hosts.iter_mut().try_for_each(|host| host::reset::reset(host, now, events))
}
