//! Looks at one host again: validations, then the table.

use assisted_wire::host::HostValidationId;
use jiff::Timestamp;

use super::report::ReportKind;
use super::state;
use super::status_info::FAILING;
use super::transition::{REFRESH, REFRESH_POOL};
use crate::event::{NewEvent, catalogue, cut};
use crate::facts::HostFacts;
use crate::machine::choose;
use crate::validation::{Change, ChangeKind, Results, diff};

/// Looks at a host again, given the results of its validations; whether it changed.
pub(crate) fn refresh(
    host: &mut HostFacts,
    results: &Results<HostValidationId>,
    now: Timestamp,
    events: &mut Vec<NewEvent>,
) -> bool {
    let changed = note(host, results, events);
    let table = REFRESH.iter().chain(REFRESH_POOL);
    let status = host.record.host.status;
    // A state without a rule for its situation stays.
    let rule = choose(table, &status, &|condition| condition.holds(host, Some(results)));
    let Some((to, info)) = rule.and_then(|rule| Some((rule.to?, rule.info?))) else { return changed };
    let info = info.replacen(FAILING, &results.failing(), 1);
    if to == status && host.record.host.status_info == cut(&info, state::LONGEST_INFO) {
        return changed;
    }
    state::enter(host, to, &info, now, events);
    true
}

/// Stores new results and tells what changed; whether anything did.
fn note(host: &mut HostFacts, results: &Results<HostValidationId>, events: &mut Vec<NewEvent>) -> bool {
    let info = results.to_info();
    let old = host.report(ReportKind::ValidationsInfo);
    if results.is_empty() || info == old {
        return false;
    }
    events.extend(diff(old, results).iter().filter_map(|change| event(host, change)));
    host.reports.insert(ReportKind::ValidationsInfo, info.into());
    true
}

fn event(host: &HostFacts, change: &Change<HostValidationId>) -> Option<NewEvent> {
    let id = change.id;
    if let Some(failure) = change.failure_message() {
        let values: &[(&str, &dyn std::fmt::Display)] =
            &[("validation_id", &id), ("failure_message", &failure)];
        return Some(catalogue::HOST_VALIDATION_FAILED.of_host(host, values));
    }
    (change.kind == ChangeKind::Fixed)
        .then(|| catalogue::HOST_VALIDATION_FIXED.of_host(host, &[("validation_id", &id)]))
}
