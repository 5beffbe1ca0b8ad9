//! One pass over a host: the results of its validations, then the table of its states.

use std::borrow::Cow;

use assisted_wire::cluster::LogsState;
use assisted_wire::host::HostValidationId;
use assisted_wire::time::DateTime;

use super::cluster_context::ClusterContext;
use super::rule_context::RuleContext;
use super::transition::{Effect, HostRule, REFRESH, REFRESH_POOL};
use super::{forget, format, limits, state, status_info};
use crate::model::deadline;
use crate::model::event::{NewEvent, catalogue, cut};
use crate::model::facts::HostFacts;
use crate::model::report::ReportKind;
use crate::state::machine::choose;
use crate::validation::host::invalid_images;
use crate::validation::{Change, ChangeKind, Results, diff};

/// Runs one pass over a host, given the results of its validations; whether it changed in a way that others, or another
/// pass, could see. Texts for people are no such change, and the results themselves were recorded before ([`record_results`]).
pub fn refresh(
    host: &mut HostFacts,
    results: &Results<HostValidationId>,
    context: &ClusterContext,
    events: &mut Vec<NewEvent>,
) -> bool {
    let rule_context = RuleContext { host, results: Some(results), context: Some(context) };
    let table = REFRESH.iter().chain(REFRESH_POOL);
    // A state without a rule for its situation stays.
    let Some(rule) = choose(table, &host.record.host.status, &|condition| condition.holds(&rule_context))
    else {
        return false;
    };
    let info = rule.info.map(|info| status_info::fill(info, &rule_context));
    apply(host, rule, info, context, events)
}

/// Does what a rule says; whether anything but the text changed.
fn apply(
    host: &mut HostFacts,
    rule: &HostRule,
    info: Option<Cow<'static, str>>,
    context: &ClusterContext,
    events: &mut Vec<NewEvent>,
) -> bool {
    let status = host.record.host.status;
    let mut changed = false;
    if let (Some(to), Some(info)) = (rule.to, info) {
        if to == status && host.record.host.status_info == cut(&info, state::LONGEST_INFO) {
            return false;
        }
        if rule.effects.contains(&Effect::LeaveCluster) {
            forget::leave_cluster(host);
        }
        state::enter(host, to, &info, context.now, events);
        changed = to != status;
    }
    for effect in rule.effects {
        changed |= run(*effect, host, context, events);
    }
    changed
}

/// Brings an effect about; whether anything changed.
fn run(effect: Effect, host: &mut HostFacts, context: &ClusterContext, events: &mut Vec<NewEvent>) -> bool {
    match effect {
        Effect::ForgetLogs => {
            forget::forget_logs(host);
            true
        }
        Effect::ForgetFailedImages => {
            let status = host.report(ReportKind::ImagesStatus);
            let fine = invalid_images(status).is_some_and(|invalid| invalid.is_empty());
            !fine && host.reports.remove(&ReportKind::ImagesStatus).is_some()
        }
        Effect::BeginInstallation => {
            format::begin(host, &context.policy, events);
            true
        }
        Effect::NoteSilence | Effect::NoteVoice => {
            host.record.host.connection_timed_out = effect == Effect::NoteSilence;
            true
        }
        Effect::HoldStageBack => hold_stage_back(host, context),
        Effect::NoteStageOverdue => {
            record_stage_overdue(host, context, events);
            true
        }
        Effect::GiveUpLogs => {
            host.record.host.logs_info = Some(LogsState::Timeout);
            true
        }
        // Done before, or by those who know the request.
        Effect::LeaveCluster
        | Effect::GiveUpBootstrap
        | Effect::Forget
        | Effect::ForgetButInventory
        | Effect::RestartPreparation
        | Effect::DemandDiskBoot
        | Effect::LoseMedia
        | Effect::FailWithMedia
        | Effect::RefuseInstalled => false,
    }
}

fn hold_stage_back(host: &mut HostFacts, context: &ClusterContext) -> bool {
    let Some(progress) = &mut host.record.host.progress else { return false };
    if context.now <= deadline::after(progress.stage_updated_at.0, limits::HELD_BACK) {
        return false;
    }
    set_stage_updated_at(host, context.now.into());
    true
}

/// Sets the clock of the stage, in both places that show it.
pub(crate) fn set_stage_updated_at(host: &mut HostFacts, at: DateTime) {
    let fields = &mut host.record.host;
    fields.stage_updated_at = at;
    if let Some(progress) = &mut fields.progress {
        progress.stage_updated_at = at;
    }
}

fn record_stage_overdue(host: &mut HostFacts, context: &ClusterContext, events: &mut Vec<NewEvent>) {
    let Some(progress) = &mut host.record.host.progress else { return };
    progress.stage_timed_out = true;
    let Some(stage) = progress.current_stage else { return };
    let minutes = context.policy.host_stages.of(Some(stage)).as_secs() / 60;
    events.push(catalogue::HOST_STAGE_TIMED_OUT.of_host(host, &[("stage", &stage), ("minutes", &minutes)]));
}

/// Stores new results and emits events for what changed.
pub fn record_results(host: &mut HostFacts, results: &Results<HostValidationId>, events: &mut Vec<NewEvent>) {
    if results.is_empty() {
        return;
    }
    let old = host.report(ReportKind::ValidationsInfo);
    let Some(info) = results.new_info(old) else { return };
    events.extend(diff(old, results).iter().filter_map(|change| event(host, change)));
    host.reports.insert(ReportKind::ValidationsInfo, info.into());
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
