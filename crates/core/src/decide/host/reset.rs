//! The reset of a host that a user asks for.

use assisted_wire::host::HostValidationId;
use jiff::Timestamp;

use super::reply::disk_speed;
use crate::model::decision::Decision;
use crate::model::disk;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::HostFacts;
use crate::model::refusal::{Refusal, RefusalKind};
use crate::model::refusal_with_events::RefusalWithEvents;
use crate::model::report::ReportKind;
use crate::state::host::state;
use crate::state::host::transition::{RESET, follow, rule_of};

/// Resets the installation of a host: it must boot the discovery image again. A refusal emits an event, too.
///
/// # Errors
///
/// `Conflict` when the host is in a state that can't be reset.
pub fn reset(host: &mut HostFacts, now: Timestamp, events: &mut Vec<NewEvent>) -> Result<(), Refusal> {
    let Some(rule) = rule_of(RESET, host) else {
        let refusal = state::no_rule(RefusalKind::Conflict, host);
        events.push(catalogue::HOST_INSTALLATION_RESET_FAILED.of_host(host, &[("error", &refusal.reason)]));
        return Err(refusal);
    };
    follow(rule, host, now, events);
    events.push(catalogue::HOST_INSTALLATION_RESET.of_host(host, &[]));
    Ok(())
}

/// A user resets a host that is being added to an installed cluster (service-api §6.5).
///
/// # Errors
///
/// The host is not such a host, or in a state that can't be reset.
pub fn reset_host(host: &HostFacts, now: Timestamp) -> Result<Decision, RefusalWithEvents> {
    if !host.is_day2() {
        return Err(Refusal::conflict("method only allowed when adding hosts to an existing cluster").into());
    }
    if host.record.host.cluster_id.is_none() {
        return Err(Refusal::conflict("method only allowed when host assigned to an existing cluster").into());
    }
    let (mut after, mut events) = (host.clone(), Vec::new());
    match reset(&mut after, now, &mut events) {
        Ok(()) => Ok(Decision::of_host(host, after, now, events)),
        Err(refusal) => Err(RefusalWithEvents { refusal, events }),
    }
}

/// Forgets the outcome of a check, so that it is made anew (state-machines §4.15).
///
/// # Errors
///
/// `Internal` when the host is not bound, `Invalid` when there is no such check, or it can't be repeated.
pub fn reset_validation(host: &HostFacts, id: &str, now: Timestamp) -> Result<Decision, Refusal> {
    let fields = &host.record.host;
    if fields.cluster_id.is_none() {
        let reason = format!("host {} is not bound to any cluster, reset validation", fields.id);
        return Err(Refusal::internal(reason));
    }
    let mut after = host.clone();
    match id.parse() {
        Ok(HostValidationId::SufficientInstallationDiskSpeed) => {
            disk_speed::forget(&mut after, disk::chosen(fields))?;
        }
        Ok(HostValidationId::ContainerImagesAvailable) => {
            after.put_report(ReportKind::ImagesStatus, "".into());
        }
        _ => {
            let reason = format!("Validation \"{id}\" cannot be reset or does not exist");
            return Err(Refusal::invalid(reason));
        }
    }
    Ok(Decision::of_host(host, after, now, Vec::new()))
}
