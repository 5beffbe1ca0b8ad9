//! A user cancels the installation (state-machines §3.5).

use crate::cluster::refresh::request;
use crate::cluster::transition::CANCEL;
use crate::event::catalogue;
use crate::facts::Facts;
use crate::host;
use crate::host::rejection::Rejection;
use crate::refresh::{Draft, Refresh};
use crate::refusal::Refusal;

use super::wrong_state;

/// Cancels the installation of the cluster and of each host.
///
/// # Errors
///
/// 409 when cluster or any host is in another state. Nothing is changed then, but what was tried is told
/// (state-machines §11).
pub fn cancel(facts: &Facts) -> Result<Refresh, Rejection> {
    let mut draft = Draft::new(facts);
    match attempt(&mut draft) {
        Ok(()) => Ok(draft.unsettled()),
        Err(refusal) => {
            let mut events = draft.events;
            if let Some(record) = &facts.cluster {
                let spec = catalogue::CANCEL_INSTALLATION_FAILED;
                events.push(spec.of_cluster(record.cluster.id, &[("error", &refusal.reason)]));
            }
            Err(Rejection { refusal, events })
        }
    }
}

fn attempt(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !request(&mut draft.facts, CANCEL, &mut draft.events) {
        return Err(wrong_state(&draft.facts, "cancelled"));
    }
    let (now, events) = (draft.facts.now, &mut draft.events);
    draft.facts.hosts.iter_mut().try_for_each(|host| host::cancel::cancel(host, now, events))
}
