//! What a decision wants done: what to write, which events to emit, what to do outside, and when to look again.

use jiff::Timestamp;

use crate::model::action::Action;
use crate::model::cluster::ClusterRecord;
use crate::model::event::NewEvent;
use crate::model::facts::HostFacts;
use crate::model::host::{HostKey, HostRecord};
use crate::model::report::ReportKind;

/// What a decision wants done. Empty when nothing changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Hosts that changed.
    pub hosts: Vec<HostChange>,
    /// The cluster, if it changed.
    pub cluster: Option<ClusterRecord>,
    /// Events, in order.
    pub events: Vec<NewEvent>,
    /// What is to be done outside, in order.
    pub actions: Vec<Action>,
    /// The earliest moment at which the clock alone could change anything; `None`: never, or the decision is about one host
    /// alone, and its cluster has not been looked at.
    pub next_check: Option<Timestamp>,
    /// Hosts that could not be validated, which are as before, and why; for the log.
    pub problems: Vec<(HostKey, String)>,
}

impl Decision {
    /// A decision about one host: what changed between two of its states, and the events of it.
    pub fn of_host(before: &HostFacts, after: HostFacts, now: Timestamp, events: Vec<NewEvent>) -> Self {
        Self { hosts: change(before, after, now).into_iter().collect(), events, ..Self::default() }
    }

    /// Whether there is anything to write or to do. When to look again does not count.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.cluster.is_none() && self.events.is_empty() && self.actions.is_empty()
    }
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

/// What changed between two states of a host; `None` when nothing did.
pub fn change(before: &HostFacts, mut after: HostFacts, now: Timestamp) -> Option<HostChange> {
    let differs = |kind: &ReportKind| before.report(*kind) != after.report(*kind);
    let kinds = if before.reports.is_same(&after.reports) { &[] } else { ReportKind::ALL };
    let reports: Vec<_> =
        kinds.iter().copied().filter(differs).map(|kind| (kind, after.report(kind).to_owned())).collect();
    let record = (before.record != after.record).then(|| {
        after.record.host.updated_at = now.into();
        after.record.into_inner()
    });
    (record.is_some() || !reports.is_empty()).then(|| HostChange { key: before.key(), record, reports })
}
