//! Looks at a cluster again: what is derived from its hosts, validations, then the table.

use assisted_wire::cluster::ClusterStatus::Insufficient;
use assisted_wire::cluster::ClusterValidationId;
use jiff::{SignedDuration, Timestamp};

use super::condition::View;
use super::effect::Change as Effects;
use super::state::{self, DESCRIBED, INSTALLING};
use super::status_info::{HOSTS_FAILED, IMAGE_FAILED, MINUTES, OUTCOME, STAGE};
use super::transition::{ClusterRule, REFRESH};
use super::{completion, progress, timeouts, vip_lease};
use crate::model::cluster::ClusterRecord;
use crate::model::event::{NewEvent, catalogue};
use crate::model::facts::Facts;
use crate::model::{layering, topology};
use crate::network::{collision, connectivity, machine};
use crate::state::host::resetting;
use crate::state::machine::choose;
use crate::validation::cluster::evaluate;
use crate::validation::{Change, ChangeKind, Results, diff};

/// What a pass over a cluster changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// Nothing that its hosts, or another look, could see. Texts for people are no such change.
    Nothing,
    /// Its state.
    State,
    /// What its hosts are judged by, perhaps.
    More,
}

/// Works out what validations of hosts need to know of the cluster: machine networks, groups, collisions; whether any of
/// it changed.
pub(crate) fn derive(facts: &mut Facts) -> bool {
    if facts.cluster.as_ref().is_none_or(|record| !DESCRIBED.contains(&record.cluster.status)) {
        return false;
    }
    let networks = machine::automatic(facts);
    let changed = networks.is_some();
    if let (Some(networks), Some(record)) = (networks, &mut facts.cluster) {
        record.cluster.machine_networks = Some(networks);
        record.machine_network_cidr_updated_at = Some(facts.now);
    }
    derive_groups(facts) || changed
}

/// Works out groups and collisions, unless what they are made from is as it was: in a large cluster they take long, and
/// reports differ in what does not matter here all the time.
fn derive_groups(facts: &mut Facts) -> bool {
    let print = Some(connectivity::print(facts));
    if facts.cluster.as_ref().is_none_or(|record| record.connectivity_print == print) {
        return false;
    }
    let groups = connectivity::majority_groups(facts);
    let collisions = collision::ip_collisions(facts);
    let Some(record) = &mut facts.cluster else { return false };
    record.connectivity_print = print;
    record.cluster.connectivity_majority_groups = groups;
    record.cluster.ip_collisions = collisions;
    true
}

/// Runs one pass over the cluster: its validations, then the table of its states.
pub(crate) fn refresh(facts: &mut Facts, events: &mut Vec<NewEvent>) -> Changed {
    if facts.cluster.is_none() {
        return Changed::Nothing;
    }
    let results = evaluate(facts);
    let (now, policy, hosts) = (facts.now, &facts.policy, &facts.hosts);
    let Some(record) = &mut facts.cluster else { return Changed::Nothing };
    record.cluster.schedulable_masters_forced_true =
        topology::masters_schedulable_forced(&record.cluster, hosts);
    record_results(record, &results, events);
    if INSTALLING.contains(&record.cluster.status) {
        progress::install(&mut record.cluster, hosts);
    }
    vip_lease::emit_timeout(record, now, events);

    let view = View { record, hosts, policy, now, results: &results };
    let mut changed = Changed::Nothing;
    if let Some(rule) = choose(REFRESH, &record.cluster.status, &|condition| condition.holds(&view)) {
        let info = rule.info.map(|info| fill(info, &view));
        changed = Effects { record, hosts, policy, now, events }.follow(rule, info.as_deref());
    }
    if demand_overdue(facts, events) { Changed::More } else { changed }
}

/// Asks for the discovery image on all hosts of a cluster that was reset when one of them does not find the way back by
/// itself (state-machines §4.12).
fn demand_overdue(facts: &mut Facts, events: &mut Vec<NewEvent>) -> bool {
    let (now, policy) = (facts.now, &facts.policy);
    let is_reset = facts.cluster.as_ref().is_some_and(|record| record.cluster.status == Insufficient);
    if !is_reset || !facts.hosts.iter().any(|host| resetting::is_overdue(host, policy, now)) {
        return false;
    }
    facts.hosts.iter_mut().for_each(|host| resetting::demand(host, now, events));
    true
}

/// Does what a rule of a user's request says; the cluster must be in one of its states.
pub(crate) fn request(facts: &mut Facts, table: &'static [ClusterRule], events: &mut Vec<NewEvent>) -> bool {
    let (now, policy, hosts) = (facts.now, &facts.policy, &facts.hosts);
    let Some(record) = &mut facts.cluster else { return false };
    // Requests ask for nothing but the state.
    let Some(rule) = choose(table, &record.cluster.status, &|_| false) else { return false };
    Effects { record, hosts, policy, now, events }.follow(rule, rule.info);
    true
}

impl Effects<'_> {
    /// Enters the rule's state and works its effects.
    fn follow(&mut self, rule: &ClusterRule, info: Option<&str>) -> Changed {
        let before = self.record.cluster.status;
        if let (Some(to), Some(info)) = (rule.to, info) {
            state::enter(self.record, to, info, self.now, self.events);
        }
        for effect in rule.effects {
            self.apply(*effect);
        }
        match (rule.effects, self.record.cluster.status == before) {
            ([], true) => Changed::Nothing,
            ([], false) => Changed::State,
            _ => Changed::More,
        }
    }
}

/// When the clock alone could change the cluster next; `None`: never.
pub(crate) fn next_check(facts: &Facts) -> Option<Timestamp> {
    let record = facts.cluster.as_ref()?;
    let results = Results::default();
    let (hosts, policy, now) = (&facts.hosts, &facts.policy, facts.now);
    let view = View { record, hosts, policy, now, results: &results };
    let mut next = vip_lease::deadline(record).filter(|deadline| *deadline >= now);
    for rule in REFRESH.iter().filter(|rule| rule.from.contains(&record.cluster.status)) {
        rule.when.each(&mut |condition| {
            // What passed already changes nothing by passing further.
            let deadline = condition.deadline(&view).filter(|deadline| *deadline >= now);
            next = next.into_iter().chain(deadline).min();
        });
    }
    // The limit itself is still in time.
    next?.checked_add(SignedDuration::from_millis(1)).ok()
}

/// Stores new results and emits events for what changed.
fn record_results(
    record: &mut ClusterRecord,
    results: &Results<ClusterValidationId>,
    events: &mut Vec<NewEvent>,
) {
    if results.is_empty() {
        return;
    }
    let Some(info) = results.new_info(&record.cluster.validations_info) else { return };
    let changes = diff(&record.cluster.validations_info, results);
    events.extend(changes.iter().filter_map(|change| event(record, change)));
    record.cluster.validations_info = info;
}

fn event(record: &ClusterRecord, change: &Change<ClusterValidationId>) -> Option<NewEvent> {
    let (id, validation) = (record.cluster.id, change.id);
    if let Some(failure) = change.failure_message() {
        let values: &[(&str, &dyn std::fmt::Display)] =
            &[("validation_id", &validation), ("failure_message", &failure)];
        return Some(catalogue::CLUSTER_VALIDATION_FAILED.of_cluster(id, values));
    }
    (change.kind == ChangeKind::Fixed)
        .then(|| catalogue::CLUSTER_VALIDATION_FIXED.of_cluster(id, &[("validation_id", &validation)]))
}

/// Fills in what a rule's text leaves open.
fn fill(info: &'static str, view: &View<'_>) -> String {
    let cluster = &view.record.cluster;
    if info == OUTCOME {
        return completion::text(cluster, view.hosts).into_owned();
    }
    // Whatever else has failed then follows from it.
    if matches!(info, HOSTS_FAILED | IMAGE_FAILED)
        && let Some(failure) = layering::failure(&view.record.layering.builds)
    {
        return failure;
    }
    let stage = progress::stage(cluster).filter(|_| info.contains(STAGE));
    let limit = stage.map_or(view.policy.timeouts.installation, |stage| {
        timeouts::of_stage(stage, view.record, view.policy)
    });
    let stage = stage.map_or("", |stage| stage.as_str());
    info.replacen(STAGE, stage, 1).replacen(MINUTES, &timeouts::minutes(limit).to_string(), 1)
}
