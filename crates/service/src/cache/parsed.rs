//! Reports that were parsed lately. Each look at a cluster needs those of all its hosts, though mostly none has changed.
//!
//! An entry is found by the hash of its text, so it can't be out of date, whoever writes.

use std::sync::Arc;

use assisted_core::model::connectivity_report::ParsedConnectivity;
use assisted_core::model::facts::{HostFacts, read_inventory};
use assisted_core::model::report::ReportKind;
use assisted_store::{RecentCache, Report, ReportHash};
use assisted_wire::inventory::Inventory;

/// Bytes of inventories that a generation holds; there are two. Those of 500 hosts fit.
const INVENTORIES: usize = 6 << 20;
/// Bytes of connectivity reports that a generation holds: those of 500 hosts that report each other fit.
const CONNECTIVITY: usize = 24 << 20;

/// What was parsed, by the hash of its text.
#[derive(Debug)]
pub(crate) struct ParsedReports {
    inventories: RecentCache<ReportHash, Arc<Inventory>>,
    connectivity: RecentCache<ReportHash, Arc<ParsedConnectivity>>,
}

impl Default for ParsedReports {
    fn default() -> Self {
        Self { inventories: RecentCache::new(INVENTORIES), connectivity: RecentCache::new(CONNECTIVITY) }
    }
}

impl ParsedReports {
    /// Whether there is nothing to be read of a report.
    pub(crate) fn knows(&self, kind: ReportKind, report: &Report) -> bool {
        match kind {
            ReportKind::Inventory => self.inventories.get(&report.hash).is_some(),
            ReportKind::Connectivity => self.connectivity.get(&report.hash).is_some(),
            _ => true,
        }
    }

    /// Drops what was parsed and not wanted since the last call but one.
    pub(crate) fn age(&self) {
        self.inventories.age();
        self.connectivity.age();
    }

    /// What it takes of memory, about, in bytes: inventories, and connectivity reports.
    pub(crate) fn weights(&self) -> [usize; 2] {
        [self.inventories.weight(), self.connectivity.weight()]
    }

    /// Gives a host one of its reports.
    pub(crate) fn attach(&self, host: &mut HostFacts, kind: ReportKind, report: Report) {
        let Report { text, hash } = report;
        match kind {
            // Names and numbers, each a piece of its own, take about twice what their text does.
            ReportKind::Inventory => {
                host.inventory =
                    remembered(&self.inventories, hash, 2 * text.len(), || read_inventory(&text));
            }
            // Only addresses are kept.
            ReportKind::Connectivity => {
                host.connectivity =
                    remembered(&self.connectivity, hash, text.len() / 2, || ParsedConnectivity::parse(&text));
            }
            _ => {}
        }
        host.reports.insert(kind, text);
    }
}

fn remembered<T>(
    recent: &RecentCache<ReportHash, Arc<T>>,
    hash: ReportHash,
    weight: usize,
    parse: impl FnOnce() -> Option<T>,
) -> Option<Arc<T>> {
    if let Some(known) = recent.get(&hash) {
        return Some(known);
    }
    let parsed = Arc::new(parse()?);
    recent.put(hash, Arc::clone(&parsed), weight);
    Some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hosts_that_are_gone_reported_is_forgotten() {
        let parsed = ParsedReports::default();
        let report = Report { text: "{}".into(), hash: ReportHash::of("{}") };
        let knows = |parsed: &ParsedReports| {
            [ReportKind::Inventory, ReportKind::Connectivity].map(|kind| parsed.knows(kind, &report))
        };
        remembered(&parsed.inventories, report.hash, 1, || Some(Inventory::default())).unwrap();
        remembered(&parsed.connectivity, report.hash, 1, || Some(ParsedConnectivity::default())).unwrap();
        parsed.age();
        assert_eq!(knows(&parsed), [true, true]);
        (0..2).for_each(|_| parsed.age());
        assert_eq!(knows(&parsed), [false, false]);
    }
}
