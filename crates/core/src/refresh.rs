//! The outcome of a decision: what to write, what to tell, what to do, and when to look again.

use jiff::Timestamp;

use crate::cluster::record::ClusterRecord;
use crate::event::NewEvent;
use crate::host::record::{HostKey, HostRecord};
use crate::host::report::ReportKind;

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
