//! The decision: looks at a cluster with its hosts, or at a host of a pool, and says what to write, what to tell, and
//! when to look again.

use jiff::Timestamp;

use crate::cluster;
use crate::cluster::record::ClusterRecord;
use crate::event::NewEvent;
use crate::facts::Facts;
use crate::host;
use crate::host::record::{HostKey, HostRecord};
use crate::host::report::ReportKind;
use crate::machine::Table;
use crate::validation::Scope;
use crate::validation::host::evaluate_in;

/// What a refresh wants done. Empty when nothing changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refresh {
    /// Hosts that changed.
    pub hosts: Vec<HostChange>,
    /// The cluster, if it changed.
    pub cluster: Option<ClusterRecord>,
    /// Events, in order.
    pub events: Vec<NewEvent>,
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
    let mut after = facts.clone();
    let mut events = Vec::new();
    let mut problems = Vec::new();
    for _ in 0..MOST_LOOKS {
        problems.clear();
        if !look(&mut after, &mut events, &mut problems) {
            break;
        }
    }
    let next_check =
        after.hosts.iter().filter_map(|host| host::check_in::disconnects_at(host, &facts.settings)).min();
    let changes = facts.hosts.iter().zip(after.hosts);
    let hosts = changes.filter_map(|(before, after)| host::reset::change(before, after, facts.now)).collect();
    let cluster = after.cluster.filter(|after| Some(after) != facts.cluster.as_ref()).map(|mut record| {
        record.cluster.updated_at = facts.now.into();
        record
    });
    Refresh { hosts, cluster, events, next_check, problems }
}

/// Looks once at everything, weakest host first; whether anything changed.
fn look(facts: &mut Facts, events: &mut Vec<NewEvent>, problems: &mut Vec<(HostKey, String)>) -> bool {
    let mut changed = cluster::refresh::derive(facts);
    let order = host::role::weakest_first(&facts.hosts);
    let scope = Scope::new(facts);
    let results: Vec<_> =
        order.iter().map(|&place| (place, evaluate_in(&scope, &facts.hosts[place]))).collect();
    drop(scope);
    for (place, results) in results {
        let host = &mut facts.hosts[place];
        match results {
            Ok(results) => changed |= host::refresh::refresh(host, &results, facts.now, events),
            Err(error) => problems.push((host.key(), error.to_string())),
        }
    }
    changed |= host::role::suggest(facts, &order, events);
    changed |= cluster::refresh::refresh(facts, events);
    changed
}

/// Every table of every machine, in words, for the documentation.
pub fn tables() -> Vec<Table> {
    [host::transition::tables(), cluster::transition::tables()].concat()
}
