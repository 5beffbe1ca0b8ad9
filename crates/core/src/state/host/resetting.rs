//! A host of a cluster that was reset: it should boot the discovery image again, by itself or by a person's hand.

use assisted_wire::host::HostStatus;
use jiff::Timestamp;

use super::{stage, state, status_info};
use crate::model::deadline;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::policy::Policy;

/// Whether a host of a cluster that was reset does not come back by itself (state-machines §4.12).
pub fn is_overdue(host: &HostFacts, policy: &Policy, now: Timestamp) -> bool {
    let fields = &host.record.host;
    let stage = fields.stage();
    fields.status == HostStatus::Resetting
        && (now >= deadline::after(fields.status_updated_at.0, policy.timeouts.reset_cluster)
            || stage.is_some_and(stage::is_past_reboot))
}

/// Asks a person to boot the discovery image on a host of a cluster that was reset.
pub fn demand(host: &mut HostFacts, now: Timestamp, events: &mut Vec<NewEvent>) {
    state::enter(host, HostStatus::ResettingPendingUserAction, status_info::RESET, now, events);
    events.push(catalogue::USER_REQUIRED_COMPLETE_INSTALLATION_RESET.of_host(host, &[]));
}
