//! What a host forgets when it boots anew or leaves its cluster, and the reset that a user asks for.

use assisted_wire::host::{HostKind, HostProgressInfo, HostRole, HostStatus, HostValidationId};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::rejection::Rejection;
use super::reply::disk_speed;
use super::report::ReportKind;
use super::transition::{RESET, follow, rule_of};
use super::{limits, logs, stage, state, status_info};
use crate::disk;
use crate::event::{NewEvent, catalogue};
use crate::facts::HostFacts;
use crate::refresh::HostChange;
use crate::refusal::Refusal;
use crate::settings::Settings;

/// Forgets what the last boot told.
pub(crate) fn forget(host: &mut HostFacts, keep_inventory: bool) {
    let fields = &mut host.record.host;
    fields.progress = Some(HostProgressInfo::default());
    fields.stage_started_at = DateTime::ZERO;
    fields.stage_updated_at = DateTime::ZERO;
    logs::forget(host);
    for kind in [ReportKind::ImagesStatus, ReportKind::NtpSources] {
        host.put_report(kind, "".into());
    }
    if !keep_inventory {
        host.record.host.bootstrap = false;
        host.put_report(ReportKind::Inventory, "".into());
    }
}

/// Forgets all that belonged to the cluster; NTP sources, requested name and labels stay.
pub(crate) fn leave_cluster(host: &mut HostFacts) {
    let sources = host.reports.get(&ReportKind::NtpSources).cloned();
    forget(host, false);
    for kind in [
        ReportKind::Connectivity,
        ReportKind::DomainNameResolutions,
        ReportKind::FreeAddresses,
        ReportKind::ApiVipConnectivity,
    ] {
        host.put_report(kind, "".into());
    }
    host.reports.extend(sources.map(|sources| (ReportKind::NtpSources, sources)));
    let fields = &mut host.record.host;
    fields.cluster_id = None;
    fields.kind = HostKind::Host;
    fields.installation_disk_id.clear();
    fields.installation_disk_path.clear();
    fields.machine_config_pool_name.clear();
    fields.role = Some(HostRole::AutoAssign);
    fields.suggested_role = None;
}

/// What changed between two states of a host; `None` when nothing did.
pub fn change(before: &HostFacts, mut after: HostFacts, now: Timestamp) -> Option<HostChange> {
    let reports: Vec<_> = ReportKind::ALL
        .iter()
        .filter(|kind| before.report(**kind) != after.report(**kind))
        .map(|kind| (*kind, after.report(*kind).to_owned()))
        .collect();
    let record = (before.record != after.record).then(|| {
        after.record.host.updated_at = now.into();
        after.record
    });
    (record.is_some() || !reports.is_empty()).then(|| HostChange { key: before.key(), record, reports })
}

/// A change of a host and the events that tell of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The host, if it changed.
    pub host: Option<HostChange>,
    /// Events, in order.
    pub events: Vec<NewEvent>,
}

/// Resets the installation of a host: it must boot the discovery image again. A refusal is told, too.
///
/// # Errors
///
/// 409 when the host is in a state that can't be reset.
pub fn reset(host: &mut HostFacts, now: Timestamp, events: &mut Vec<NewEvent>) -> Result<(), Refusal> {
    let Some(rule) = rule_of(RESET, host) else {
        let refusal = state::no_rule(409, host);
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
pub fn reset_host(host: &HostFacts, now: Timestamp) -> Result<Outcome, Rejection> {
    if !host.is_day2() {
        return Err(Refusal::conflict("method only allowed when adding hosts to an existing cluster").into());
    }
    if host.record.host.cluster_id.is_none() {
        return Err(Refusal::conflict("method only allowed when host assigned to an existing cluster").into());
    }
    let (mut after, mut events) = (host.clone(), Vec::new());
    match reset(&mut after, now, &mut events) {
        Ok(()) => Ok(Outcome { host: change(host, after, now), events }),
        Err(refusal) => Err(Rejection { refusal, events }),
    }
}

/// Whether a host of a cluster that was reset does not come back by itself (state-machines §4.12).
pub fn is_overdue(host: &HostFacts, settings: &Settings, now: Timestamp) -> bool {
    let fields = &host.record.host;
    let stage = fields.progress.as_ref().and_then(|progress| progress.current_stage);
    fields.status == HostStatus::Resetting
        && (now >= limits::after(fields.status_updated_at.0, settings.timeouts.reset_cluster)
            || stage.is_some_and(stage::is_past_reboot))
}

/// Asks a person to boot the discovery image on a host of a cluster that was reset.
pub fn demand(host: &mut HostFacts, now: Timestamp, events: &mut Vec<NewEvent>) {
    state::enter(host, HostStatus::ResettingPendingUserAction, status_info::RESET, now, events);
    events.push(catalogue::USER_REQUIRED_COMPLETE_INSTALLATION_RESET.of_host(host, &[]));
}

/// Forgets the outcome of a check, so that it is made anew (state-machines §4.15).
///
/// # Errors
///
/// 500 when the host is not bound, 400 when there is no such check, or it can't be repeated.
pub fn reset_validation(host: &HostFacts, id: &str, now: Timestamp) -> Result<Outcome, Refusal> {
    let fields = &host.record.host;
    if fields.cluster_id.is_none() {
        let reason = format!("host {} is not bound to any cluster, reset validation", fields.id);
        return Err(Refusal::new(500, reason));
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
            return Err(Refusal::bad_request(reason));
        }
    }
    Ok(Outcome { host: change(host, after, now), events: Vec::new() })
}
