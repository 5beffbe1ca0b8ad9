//! The installation of a host begins.

use assisted_wire::host::HostStatus;
use jiff::Timestamp;

use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::refusal::Refusal;
use crate::policy::Policy;
use crate::state::host::format::begin;
use crate::state::host::rule_context::RuleContext;
use crate::state::host::transition::{INSTALL, follow};
use crate::state::machine::choose;

/// Whether a host that joins an installed cluster can be installed (state-machines §8.3).
///
/// # Errors
///
/// `NotFound` when it is not bound, `Conflict` when it is no such host or not ready.
pub fn may_install(host: &HostFacts) -> Result<(), Refusal> {
    let fields = &host.record.host;
    if fields.cluster_id.is_none() {
        return Err(Refusal::not_found(format!("Host {} is not bound to any cluster", fields.id)));
    }
    if !host.is_day2() {
        return Err(Refusal::conflict("method only allowed when adding hosts to an existing cluster"));
    }
    if fields.status != HostStatus::Known {
        return Err(Refusal::conflict(format!("cannot install host in state {}", fields.status)));
    }
    Ok(())
}

/// Installs a host that joins an installed cluster: its Ignition config must be there already.
///
/// # Errors
///
/// `Conflict` when it is no such host, or not ready any more.
pub fn install_day2(
    host: &mut HostFacts,
    policy: &Policy,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> Result<(), Refusal> {
    let status = host.record.host.status;
    let rule_context = RuleContext::alone(host);
    let Some(rule) = choose(INSTALL, &status, &|condition| condition.holds(&rule_context)) else {
        return Err(Refusal::conflict(format!("cannot install host in state {status} after refresh")));
    };
    follow(rule, host, now, events);
    begin(host, policy, events);
    events.push(catalogue::HOST_INSTALLATION_STARTED.of_host(host, &[]));
    Ok(())
}
