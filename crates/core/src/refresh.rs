//! The decision: looks at a cluster with its hosts, or at a host of a pool, and says what to write, what to tell, what to
//! do, and when to look again.

use jiff::Timestamp;

use crate::action::Action;
use crate::cluster;
use crate::cluster::record::ClusterRecord;
use crate::event::NewEvent;
use crate::facts::Facts;
use crate::host;
use crate::host::clock;
use crate::host::record::{HostKey, HostRecord};
use crate::host::report::ReportKind;
use crate::host::state::takes_part;
use crate::host::surroundings::Surroundings;
use crate::machine::Table;
use crate::validation::Scope;
use crate::validation::host::evaluate_in;

/// What a decision wants done. Empty when nothing changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refresh {
    /// Hosts that changed.
    pub hosts: Vec<HostChange>,
    /// The cluster, if it changed.
    pub cluster: Option<ClusterRecord>,
    /// Events, in order.
    pub events: Vec<NewEvent>,
    /// What is to be done outside, in order.
    pub actions: Vec<Action>,
    /// The earliest moment at which the clock alone could change anything; `None`: never.
    pub next_check: Option<Timestamp>,
    /// Hosts that could not be judged, which are as before, and why; for the log.
    pub problems: Vec<(HostKey, String)>,
}

/// A host that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct HostChange {
    pub key: HostKey,
    /// The host, if anything but a report changed.
    pub record: Option<HostRecord>,
    /// Reports that changed; an empty text removes one.
    pub reports: Vec<(ReportKind, String)>,
}

/// What one look changes may change what the next look sees: a role changes what hardware is required, a host that is
/// ready makes its cluster ready. Hosts and cluster agree after three or four looks; the limit is there for the case
/// that they never do.
const MOST_LOOKS: usize = 12;

/// Decides. Without side effects, and settled: a second call on what the first has left changes nothing.
pub fn refresh(facts: &Facts) -> Refresh {
    Draft::new(facts).settled()
}

/// Facts that are being changed, and what the changes bring about.
pub(crate) struct Draft<'f> {
    before: &'f Facts,
    /// The facts as they will be, without hosts that take no part.
    pub(crate) facts: Facts,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) actions: Vec<Action>,
    problems: Vec<(HostKey, String)>,
}

impl<'f> Draft<'f> {
    /// Nothing is changed yet.
    pub(crate) fn new(before: &'f Facts) -> Self {
        let mut facts = before.clone();
        facts.hosts.retain(takes_part);
        Self { before, facts, events: Vec::new(), actions: Vec::new(), problems: Vec::new() }
    }

    /// Looks until hosts and cluster agree.
    pub(crate) fn settle(&mut self) {
        for _ in 0..MOST_LOOKS {
            self.problems.clear();
            if !self.look() {
                break;
            }
        }
    }

    /// Looks once at everything, weakest host first; whether anything changed that another look could see.
    fn look(&mut self) -> bool {
        let Self { facts, events, problems, .. } = self;
        cluster::refresh::derive(facts);
        let mut changed = false;
        let order = host::role::weakest_first(&facts.hosts);
        let around = Surroundings::of(facts);
        let scope = Scope::new(facts);
        let results: Vec<_> =
            order.iter().map(|&place| (place, evaluate_in(&scope, &facts.hosts[place]))).collect();
        drop(scope);
        for (place, results) in results {
            let host = &mut facts.hosts[place];
            match results {
                Ok(results) => changed |= host::refresh::refresh(host, &results, &around, events),
                Err(error) => problems.push((host.key(), error.to_string())),
            }
        }
        changed |= host::role::suggest(facts, &order, events);
        changed |= cluster::refresh::refresh(facts, events);
        changed
    }

    /// What is to be done, once everything settled.
    pub(crate) fn settled(mut self) -> Refresh {
        self.settle();
        let around = Surroundings::of(&self.facts);
        let hosts = self.facts.hosts.iter().filter_map(|host| clock::next_check(host, &around));
        let next_check = hosts.chain(cluster::refresh::next_check(&self.facts)).min();
        self.finish(next_check)
    }

    /// What is to be done at once; what follows from it is left to a look that is due now. For requests whose answer
    /// shows what was asked for, not what soon becomes of it.
    pub(crate) fn unsettled(self) -> Refresh {
        let now = self.facts.now;
        self.finish(Some(now))
    }

    fn finish(self, next_check: Option<Timestamp>) -> Refresh {
        let Self { before, facts, events, actions, problems } = self;
        let hosts = before.hosts.iter().filter(|host| takes_part(host)).zip(facts.hosts);
        let hosts =
            hosts.filter_map(|(before, after)| host::reset::change(before, after, facts.now)).collect();
        let cluster =
            facts.cluster.filter(|after| Some(after) != before.cluster.as_ref()).map(|mut record| {
                record.cluster.updated_at = facts.now.into();
                record
            });
        Refresh { hosts, cluster, events, actions, next_check, problems }
    }
}

/// Every table of every machine, in words, for the documentation.
pub fn tables() -> Vec<Table> {
    [host::transition::tables(), cluster::transition::tables()].concat()
}
