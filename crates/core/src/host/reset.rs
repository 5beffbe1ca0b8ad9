//! What a host forgets when it boots anew or leaves its cluster, and the reset that a user asks for.

use assisted_wire::cluster::LogsState;
use assisted_wire::host::{HostKind, HostProgressInfo, HostRole};
use assisted_wire::time::DateTime;
use jiff::Timestamp;

use super::report::ReportKind;
use super::state;
use super::transition::RESET;
use crate::event::{NewEvent, catalogue};
use crate::facts::HostFacts;
use crate::machine::choose;
use crate::refresh::HostChange;
use crate::refusal::Refusal;

use super::rejection::Rejection;

/// Forgets what the last boot told.
pub(crate) fn forget(host: &mut HostFacts, keep_inventory: bool) {
    let fields = &mut host.record.host;
    fields.progress = Some(HostProgressInfo::default());
    fields.stage_started_at = DateTime::ZERO;
    fields.stage_updated_at = DateTime::ZERO;
    fields.logs_info = None::<LogsState>;
    fields.logs_started_at = DateTime::ZERO;
    fields.logs_collected_at = DateTime::ZERO;
    for kind in [ReportKind::ImagesStatus, ReportKind::NtpSources] {
        host.reports.remove(&kind);
    }
    if !keep_inventory {
        host.record.host.bootstrap = false;
        host.reports.remove(&ReportKind::Inventory);
        host.inventory = None;
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
        host.reports.remove(&kind);
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
pub(crate) fn change(before: &HostFacts, mut after: HostFacts, now: Timestamp) -> Option<HostChange> {
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
    let Some(rule) = choose(RESET, &host.record.host.status, &|_| false) else {
        let refusal = Refusal::conflict(format!(
            "Host is in {} state, it can't be reset: no condition found to run transition",
            host.record.host.status
        ));
        let event = catalogue::HOST_INSTALLATION_RESET_FAILED.of_host(host, &[("error", &refusal.reason)]);
        return Err(Rejection::told(refusal, event));
    };
    let (mut after, mut events) = (host.clone(), Vec::new());
    let status = after.record.host.status;
    state::enter(&mut after, rule.to.unwrap_or(status), rule.info.unwrap_or_default(), now, &mut events);
    events.push(catalogue::HOST_INSTALLATION_RESET.of_host(&after, &[]));
    Ok(Outcome { host: change(host, after, now), events })
}
