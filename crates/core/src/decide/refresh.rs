//! The decision: evaluates a cluster with its hosts, or a host of a pool, and says what to write, which events to emit, what to
//! do, and when to look again.

use assisted_wire::host::HostValidationId;
use jiff::Timestamp;

use crate::decide::cluster::lost_builds;
use crate::decide::host;
use crate::model::action::{Action, SubscriptionUpdate};
use crate::model::decision::{self, Decision};
use crate::model::event::NewEvent;
use crate::model::facts::{Facts, takes_part};
use crate::model::host::HostKey;
use crate::state::cluster;
use crate::state::cluster::refresh::Changed;
use crate::state::host::cluster_context::ClusterContext;
use crate::state::host::{next_deadline, refresh as host_refresh, transition as host_transition};
use crate::state::machine::Table;
use crate::validation::host::evaluate_in;
use crate::validation::{PassedHosts, Results, Scope};

/// What one pass changes may change what the next pass sees: a role changes what hardware is required, and a host that is
/// ready makes its cluster ready. Hosts and cluster agree after three or four passes; the limit is there for the case that
/// they never do.
const MOST_PASSES: usize = 12;

/// Decides, without side effects, to a fixed point: a second call on what the first has left changes nothing.
pub fn refresh(facts: &Facts) -> Decision {
    WorkingCopy::new(facts).reconciled()
}

/// The same of a large cluster, by what earlier looks at it have found, and notes there what this one finds.
pub fn refresh_after(passed: &mut PassedHosts, facts: &Facts) -> Decision {
    let mut copy = WorkingCopy::new(facts);
    copy.passed = Some(passed);
    copy.reconciled()
}

/// Facts that are being changed, and what the changes bring about.
pub(crate) struct WorkingCopy<'f> {
    before: &'f Facts,
    /// The facts as they will be, without hosts that take no part.
    pub(crate) facts: Facts,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) actions: Vec<Action>,
    problems: Vec<(HostKey, String)>,
    /// Results of the validations of each host in the last pass; `None`: they must be run anew.
    host_results: Vec<Option<HostResults>>,
    /// Hosts that need not be validated again; `None`: all are.
    passed: Option<&'f mut PassedHosts>,
}

type HostResults = Result<Results<HostValidationId>, String>;

impl<'f> WorkingCopy<'f> {
    /// Nothing is changed yet.
    pub(crate) fn new(before: &'f Facts) -> Self {
        let facts = before.clone().without_disabled();
        let (problems, host_results) = (Vec::new(), Vec::new());
        let (events, actions) = (Vec::new(), Vec::new());
        Self { before, facts, events, actions, problems, host_results, passed: None }
    }

    /// Runs passes over hosts and cluster until nothing changes any more.
    pub(crate) fn reconcile(&mut self) {
        self.discard_host_results();
        for _ in 0..MOST_PASSES {
            if !self.run_pass() {
                break;
            }
        }
        let host_results = self.facts.hosts.iter().zip(&self.host_results);
        let failed = host_results.filter_map(|(host, host_results)| {
            Some((host.key(), host_results.as_ref()?.as_ref().err()?.clone()))
        });
        self.problems = failed.collect();
    }

    fn discard_host_results(&mut self) {
        self.host_results = vec![None; self.facts.hosts.len()];
    }

    /// Runs the validations of the hosts that need it; returns which those are.
    fn evaluate(&mut self, order: &[usize]) -> Vec<bool> {
        let Self { facts, host_results, passed, .. } = self;
        let scope = Scope::new(facts);
        if let Some(passed) = passed {
            passed.set_inputs(&scope);
        }
        let mut evaluated = vec![false; facts.hosts.len()];
        for &place in order {
            if host_results[place].is_some() {
                continue;
            }
            let host = &facts.hosts[place];
            let known = passed.as_deref().and_then(|passed| passed.results(&scope, host));
            evaluated[place] = known.is_none();
            let results = known.map_or_else(|| evaluate_in(&scope, host), Ok);
            host_results[place] = Some(results.map_err(|error| error.to_string()));
        }
        evaluated
    }

    /// Runs one pass over all hosts, the weakest first, and the cluster; returns whether anything changed that another pass
    /// could see.
    fn run_pass(&mut self) -> bool {
        if cluster::refresh::derive(&mut self.facts) {
            self.discard_host_results();
        }
        let order = host::role::weakest_first(&self.facts.hosts);
        let evaluated = self.evaluate(&order);
        let Self { facts, events, host_results, passed, .. } = self;
        let context = ClusterContext::of(facts);
        let mut changed = false;
        for place in order.iter().copied() {
            let (host, Some(Ok(results))) = (&mut facts.hosts[place], &host_results[place]) else { continue };
            if evaluated[place] {
                host_refresh::record_results(host, results, events);
                if let Some(passed) = passed {
                    passed.note(host, results);
                }
            }
            if host_refresh::refresh(host, results, &context, events) {
                host_results[place] = None;
                changed = true;
            }
        }
        let suggested = host::role::suggest(facts, &order, events);
        let lost = lost_builds::give_up(facts, events);
        let of_cluster = cluster::refresh::refresh(facts, events);
        // Hosts are judged neither by the state of their cluster nor by those of the others.
        if suggested || of_cluster == Changed::More {
            self.discard_host_results();
        }
        changed || suggested || lost || of_cluster != Changed::Nothing
    }

    /// The decision, after everything that follows from the changes.
    pub(crate) fn reconciled(mut self) -> Decision {
        self.reconcile();
        let context = ClusterContext::of(&self.facts);
        let hosts = self.facts.hosts.iter().filter_map(|host| next_deadline::next_check(host, &context));
        let silent = lost_builds::silent_until(&self.facts);
        let next_check = hosts.chain(cluster::refresh::next_check(&self.facts)).chain(silent).min();
        self.finish(next_check)
    }

    /// The decision without what follows from the changes, which is left to a pass that is due now. It is for requests whose
    /// answer shows what was asked for, not what soon becomes of it.
    pub(crate) fn unreconciled(self) -> Decision {
        let now = self.facts.now;
        self.finish(Some(now))
    }

    fn finish(mut self, next_check: Option<Timestamp>) -> Decision {
        self.actions.extend(dns_records_asked_for(self.before, &self.facts));
        self.actions.extend(subscription_updates_asked_for(self.before, &self.facts));
        let Self { before, facts, events, actions, problems, .. } = self;
        let hosts = before.hosts.iter().filter(|host| takes_part(host)).zip(facts.hosts);
        let hosts = hosts.filter_map(|(before, after)| decision::change(before, after, facts.now)).collect();
        let cluster =
            facts.cluster.filter(|after| Some(after) != before.cluster.as_ref()).map(|mut record| {
                record.cluster.updated_at = facts.now.into();
                record
            });
        Decision { hosts, cluster, events, actions, next_check, problems }
    }
}

/// The action by which DNS records are made, if a look at the cluster has just asked for it.
fn dns_records_asked_for(before: &Facts, after: &Facts) -> Option<Action> {
    let record = after.cluster.as_ref()?;
    let attempt = record.dns_asked_for?;
    let known = before.cluster.as_ref().and_then(|before| before.dns_asked_for);
    (known != Some(attempt)).then_some(Action::CreateDnsRecords { cluster_id: record.cluster.id, attempt })
}

/// The actions by which the account service is told what a look at the cluster has just asked for.
pub(crate) fn subscription_updates_asked_for(before: &Facts, after: &Facts) -> Vec<Action> {
    let Some(record) = &after.cluster else { return Vec::new() };
    let known = before.cluster.as_ref().map(|before| before.subscription).unwrap_or_default();
    let asked = |update: SubscriptionUpdate| {
        let attempt = record.subscription.asked_for(update)?;
        let cluster_id = record.cluster.id;
        (known.asked_for(update) != Some(attempt)).then_some(Action::UpdateSubscription {
            cluster_id,
            attempt,
            update,
        })
    };
    SubscriptionUpdate::ALL.into_iter().filter_map(asked).collect()
}

/// Every table of every machine, in words, for the documentation.
pub fn tables() -> Vec<Table> {
    [host_transition::tables(), cluster::transition::tables()].concat()
}
