//! A cache of idle rows: clusters and hosts that nothing but the silence of a host can change. As long as their agents are heard,
//! they are not even loaded when they are due.

use std::collections::HashMap;
use std::sync::Arc;

use assisted_core::model::facts::Facts;
use assisted_core::state::host::check_in::disconnects_at;
use assisted_core::state::host::cluster_context::ClusterContext;
use assisted_core::state::host::next_deadline::due_at;
use assisted_store::{Due, LeasedItem, MarkCount};
use assisted_wire::cluster::ClusterStatus::{AddingHosts, Insufficient, PendingForInput, Ready};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::cache::Cache;
use crate::cache::check_in::CheckIn;

/// An entry whose time passed this long ago is dropped: its row is gone, or another replica reconciles it.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(1);

/// Rows of due work that need not be loaded while the agents of their hosts are heard. Skipping one is sound as long as nobody
/// has marked it since it was last reconciled, and the reconciliation said that only a silent host could change anything.
#[derive(Debug, Default)]
pub(crate) struct IdleCache(Mutex<HashMap<Due, IdleEntry>>);

#[derive(Debug)]
struct IdleEntry {
    /// How often it had been marked due: once more, and something changed.
    marks: MarkCount,
    hosts: Vec<WatchedHost>,
}

/// A host that must be heard from time to time.
#[derive(Debug)]
struct WatchedHost {
    check_in: Arc<CheckIn>,
    /// When it was last heard, as far as the database knew.
    stored: Timestamp,
    /// How long it may be silent.
    limit: SignedDuration,
}

impl WatchedHost {
    fn silent_at(&self) -> Option<Timestamp> {
        let heard = self.check_in.at().map_or(self.stored, |at| at.max(self.stored));
        heard.checked_add(self.limit).ok()
    }
}

impl IdleCache {
    /// When to look again if nothing changed and every agent was heard; `None`: look now.
    pub(crate) fn next_at(&self, taken: &LeasedItem, now: Timestamp) -> Option<Timestamp> {
        let entries = self.0.lock();
        let entry = entries.get(&taken.due).filter(|entry| entry.marks == taken.marks())?;
        entry.hosts.iter().filter_map(WatchedHost::silent_at).min().filter(|next| *next > now)
    }

    /// Remembers a row that was just reconciled, if only the silence of a host can change it.
    pub(crate) fn remember(&self, taken: &LeasedItem, facts: &Facts, next: Option<Timestamp>, cache: &Cache) {
        let is_waiting = facts.cluster.as_ref().is_none_or(|record| {
            matches!(record.cluster.status, Insufficient | Ready | PendingForInput | AddingHosts)
        });
        let mut first: Option<Timestamp> = None;
        let mut hosts = Vec::new();
        for host in &facts.hosts {
            if let Some(at) = disconnects_at(host, &facts.policy) {
                first = Some(first.map_or(at, |first| first.min(at)));
                hosts.push(WatchedHost {
                    check_in: cache.check_ins.entry(host.key()),
                    stored: host.checked_in_at,
                    limit: at.duration_since(host.checked_in_at),
                });
            }
        }
        let context = ClusterContext::of(facts);
        let waits = || facts.hosts.iter().any(|host| due_at(host, &context).is_some());
        // Whatever else the domain waits for is not a matter of being heard.
        if is_waiting && first.is_some() && next == first && !waits() {
            self.0.lock().insert(taken.due, IdleEntry { marks: taken.marks(), hosts });
        } else {
            self.forget(taken.due);
        }
    }

    /// Drops entries whose time passed long ago: their rows are gone, or another replica reconciles them.
    pub(crate) fn tidy(&self, now: Timestamp) {
        let overdue = |entry: &IdleEntry| {
            let next = entry.hosts.iter().filter_map(WatchedHost::silent_at).min();
            next.is_none_or(|next| now.duration_since(next) > FORGOTTEN)
        };
        self.0.lock().retain(|_, entry| !overdue(entry));
    }

    /// Drops the entry of a row that is gone.
    pub(crate) fn forget(&self, due: Due) {
        self.0.lock().remove(&due);
    }
}
