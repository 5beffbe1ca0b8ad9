//! The states of hosts: sets of them that rules speak of, and the change from one to another.

use assisted_wire::event::EventSeverity;
use assisted_wire::host::HostStatus::{self, *};
use jiff::Timestamp;

use crate::model::event::{NewEvent, catalogue, cut};
use crate::model::facts::HostFacts;
use crate::model::refusal::{Refusal, RefusalKind};

/// Bound to a cluster, before an installation.
pub const DISCOVERY: &[HostStatus] = &[Discovering, Known, Disconnected, Insufficient, PendingForInput];

/// Waiting in a pool.
pub const POOL: &[HostStatus] = &[DiscoveringUnbound, DisconnectedUnbound, InsufficientUnbound, KnownUnbound];

/// In the middle of an installation: such a host stays with its cluster.
pub const INSTALLING: &[HostStatus] = &[
    PreparingForInstallation,
    PreparingFailed,
    PreparingSuccessful,
    Installing,
    InstallingInProgress,
    InstallingPendingUserAction,
];

/// States in which an inventory is accepted, in the order in which the refusal lists them (service-api §6.4).
pub const UPDATABLE: &[HostStatus] = &[
    Discovering,
    Known,
    Disconnected,
    Insufficient,
    PendingForInput,
    InstallingInProgress,
    DisconnectedUnbound,
    InsufficientUnbound,
    DiscoveringUnbound,
    KnownUnbound,
];

/// Whether users may still change how the host is to be installed.
pub fn before_installation(status: HostStatus) -> bool {
    DISCOVERY.contains(&status) || POOL.contains(&status) || status == Binding
}

/// A list of states as refusals show it: `[a b c]`.
pub fn list(states: &[HostStatus]) -> String {
    let texts: Vec<_> = states.iter().map(|state| state.as_str()).collect();
    format!("[{}]", texts.join(" "))
}

/// Severity of the event of a host's new state.
pub fn severity(status: HostStatus) -> EventSeverity {
    match status {
        Disconnected | InstallingPendingUserAction | Insufficient => EventSeverity::Warning,
        Error => EventSeverity::Error,
        _ => EventSeverity::Info,
    }
}

/// The refusal of a request that makes no sense in the state of a host.
pub(crate) fn no_rule(kind: RefusalKind, host: &HostFacts) -> Refusal {
    let status = host.record.host.status;
    Refusal::new(kind, format!("no condition found to run transition from state {status}"))
}

/// Longest text of a state, in bytes.
pub(crate) const LONGEST_INFO: usize = 2040;

/// Puts a host into a state, with a text; emits an event only when the state is another one.
pub(crate) fn enter(
    host: &mut HostFacts,
    to: HostStatus,
    info: &str,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) {
    let from = host.record.host.status;
    host.record.host.status_info = cut(info, LONGEST_INFO).to_owned();
    if from == to {
        return;
    }
    host.record.host.status = to;
    host.record.host.status_updated_at = now.into();
    events.push(changed(host, from));
}

/// The event of a host that came from a state into the one it is in.
pub(crate) fn changed(host: &HostFacts, from: HostStatus) -> NewEvent {
    let (to, info) = (host.record.host.status, host.record.host.status_info.as_str());
    let info = if info.is_empty() { String::new() } else { format!("({info})") };
    NewEvent {
        severity: severity(to),
        ..catalogue::HOST_STATUS_UPDATED
            .of_host(host, &[("src_status", &from), ("new_status", &to), ("info", &info)])
    }
}
