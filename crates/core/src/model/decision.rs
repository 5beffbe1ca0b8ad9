//! What a decision changes.

use jiff::Timestamp;

use crate::model::facts::HostFacts;
use crate::model::host::{HostKey, HostRecord};
use crate::model::report::ReportKind;

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
