//! The installer, or the new cluster's controller, reports how far a host is (state-machines §4.5).

use assisted_wire::host::{HostProgress, HostProgressInfo, HostRole, HostStage, HostStatus};
use assisted_wire::time::DateTime;

use crate::model::cluster::ClusterRecord;
use crate::model::decision::Decision;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::{Facts, HostFacts};
use crate::model::host::HostKey;
use crate::model::refusal::Refusal;
use crate::state::host::refresh::set_stage_updated_at;
use crate::state::host::rule_context::RuleContext;
use crate::state::host::transition::PROGRESS;
use crate::state::host::{stage, state, status_info};
use crate::state::machine::choose;

/// What a report of progress changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progressed {
    pub decision: Decision,
    /// Whether the reported stage is another one, so that the cluster is further, too.
    pub stage_changed: bool,
}

/// States in which a host may reach another stage.
const INSTALLED_NOW: &[HostStatus] =
    &[HostStatus::Installing, HostStatus::InstallingInProgress, HostStatus::InstallingPendingUserAction];

/// Works in a report of progress.
///
/// # Errors
///
/// `NotFound` without the host, `Invalid` when it is not bound or no stage is given, `Conflict` when it can't be in that stage.
pub fn update(facts: &Facts, key: HostKey, told: &HostProgress) -> Result<Progressed, Refusal> {
    let before = facts.host(key)?;
    if before.record.host.cluster_id.is_none() {
        let id = key.host_id;
        let reason = format!("host {id} is not bound to any cluster, cannot update progress");
        return Err(Refusal::invalid(reason));
    }
    let stage = told.current_stage.ok_or_else(|| Refusal::invalid("current_stage is required"))?;
    let known = before.record.host.progress.clone().unwrap_or_default();
    let stage_changed = known.current_stage != Some(stage);
    if !stage_changed && known.progress_info == told.progress_info {
        return Ok(Progressed::default());
    }
    let (mut after, mut events) = (before.clone(), Vec::new());
    if stage_changed {
        accepts(facts, before, &known, stage)?;
        reach(facts, &mut after, stage, &told.progress_info, &mut events);
    } else {
        let progress = after.record.host.progress.get_or_insert_default();
        progress.progress_info.clone_from(&told.progress_info);
        set_stage_updated_at(&mut after, facts.now.into());
    }
    let separator = if told.progress_info.is_empty() { "" } else { ": " };
    let event = format!("reached installation stage {stage}{separator}{}", told.progress_info);
    events.push(catalogue::HOST_INSTALL_PROGRESS_UPDATED.of_host(&after, &[("event", &event)]));
    Ok(Progressed { decision: Decision::of_host(before, after, facts.now, events), stage_changed })
}

/// Whether the host can be in the stage next.
fn accepts(
    facts: &Facts,
    host: &HostFacts,
    known: &HostProgressInfo,
    stage: HostStage,
) -> Result<(), Refusal> {
    let fields = &host.record.host;
    if !INSTALLED_NOW.contains(&fields.status) {
        let status = fields.status;
        return Err(Refusal::conflict(format!("Can't set progress <{stage}> to host in status <{status}>")));
    }
    let (Some(current), false) = (known.current_stage, stage == HostStage::Failed) else { return Ok(()) };
    let stages = stage::of_record(fields, facts.cluster.as_ref());
    let place = |stage| stages.iter().position(|each| *each == stage);
    let Some(next) = place(stage) else {
        let role = fields.role.map(HostRole::as_str).unwrap_or_default();
        let bootstrap = fields.bootstrap;
        return Err(Refusal::conflict(format!(
            "Stages {stage} isn't available for host role {role} bootstrap {bootstrap}"
        )));
    };
    if place(current).is_some_and(|current| next < current) {
        return Err(Refusal::conflict(format!(
            "Can't assign lower stage \"{stage}\" after host has been in stage \"{current}\""
        )));
    }
    Ok(())
}

/// The host reaches another stage.
fn reach(facts: &Facts, host: &mut HostFacts, stage: HostStage, info: &str, events: &mut Vec<NewEvent>) {
    if stage == HostStage::Failed {
        let text = if info.is_empty() { stage.to_string() } else { format!("{stage} - {info}") };
        state::enter(host, HostStatus::Error, &text, facts.now, events);
        return;
    }
    let now: DateTime = facts.now.into();
    let stages = stage::of_record(&host.record.host, facts.cluster.as_ref());
    let is_followed = facts.cluster.as_ref().is_some_and(ClusterRecord::follows_nodes);
    // Nobody follows a host that joins an installed cluster past its reboot, unless the controllers of a hub do.
    let ends = host.is_day2() && stage == HostStage::Rebooting && !is_followed;
    let kept = if ends { HostStage::Done } else { stage };
    let fields = &mut host.record.host;
    let progress = fields.progress.get_or_insert_default();
    progress.installation_percentage = stage::percentage(&stages, stage);
    info.clone_into(&mut progress.progress_info);
    if progress.current_stage != Some(kept) {
        progress.current_stage = Some(kept);
        progress.stage_started_at = now;
        progress.stage_timed_out = false;
        fields.stage_started_at = now;
    }
    set_stage_updated_at(host, now);
    let rule_context = RuleContext::alone(host);
    let rule = choose(PROGRESS, &host.record.host.status, &|condition| condition.holds(&rule_context));
    let Some((to, text)) = rule.and_then(|rule| Some((rule.to?, rule.info?))) else { return };
    // Who was followed to the end is simply done.
    let text = if is_followed && text == status_info::DAY2_DONE { status_info::STAGE_NAME } else { text };
    let text = status_info::fill(text, &rule_context).into_owned();
    state::enter(host, to, &text, facts.now, events);
}
