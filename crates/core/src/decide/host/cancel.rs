//! A user cancels the installation of a host's cluster (state-machines §4.7).

use jiff::Timestamp;

use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::state::host::state;
use crate::state::host::transition::{CANCEL, follow, rule_of};

/// Cancels the installation of a host. A refusal emits an event, too.
///
/// # Errors
///
/// `Conflict` when the host is in a state in which nothing is installed.
pub fn cancel(host: &mut HostFacts, now: Timestamp, events: &mut Vec<NewEvent>) -> Result<(), Refusal> {
    let Some(rule) = rule_of(CANCEL, host) else {
        let refusal = state::no_rule(RefusalKind::Conflict, host);
        events.push(catalogue::HOST_CANCEL_INSTALLATION_FAILED.of_host(host, &[("error", &refusal.reason)]));
        return Err(refusal);
    };
    follow(rule, host, now, events);
    events.push(catalogue::HOST_INSTALLATION_CANCELLED.of_host(host, &[]));
    Ok(())
}
