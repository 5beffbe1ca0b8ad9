//! When each agent was last heard, kept in memory and flushed in one statement every second: a poll writes nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use assisted_core::model::host::HostKey;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

use super::handed_out::IssuedSteps;
use super::reply_budget::ReplyBudget;

/// The last sign of life of one host, as this process heard it.
#[derive(Debug)]
pub(crate) struct CheckIn {
    key: HostKey,
    /// Microseconds since the Unix epoch; 0: not heard by this process.
    at: AtomicI64,
    /// Whether it waits to be flushed.
    unsaved: AtomicBool,
    /// The steps that the host was handed out lately, while it polls soon.
    pub(crate) handed_out: IssuedSteps,
    /// How much of what it tells is still read.
    pub(crate) replies: ReplyBudget,
}

impl CheckIn {
    /// When the host was last heard by this process.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        match self.at.load(Ordering::Acquire) {
            0 => None,
            at => Timestamp::from_microsecond(at).ok(),
        }
    }
}

/// The last sign of life of every host that this process hears.
#[derive(Debug, Default)]
pub(crate) struct CheckIns {
    hosts: RwLock<HashMap<HostKey, Arc<CheckIn>>>,
    unsaved: Mutex<Vec<Arc<CheckIn>>>,
}

impl CheckIns {
    /// The host's entry, made if there is none.
    pub(crate) fn entry(&self, key: HostKey) -> Arc<CheckIn> {
        if let Some(entry) = self.hosts.read().get(&key) {
            return Arc::clone(entry);
        }
        let new = || {
            Arc::new(CheckIn {
                key,
                at: AtomicI64::new(0),
                unsaved: AtomicBool::new(false),
                handed_out: IssuedSteps::default(),
                replies: ReplyBudget::default(),
            })
        };
        Arc::clone(self.hosts.write().entry(key).or_insert_with(new))
    }

    /// Notes a sign of life. Time never runs backwards here, whatever the clock does.
    pub(crate) fn record(&self, entry: &Arc<CheckIn>, now: Timestamp) {
        entry.at.fetch_max(now.as_microsecond(), Ordering::AcqRel);
        if !entry.unsaved.swap(true, Ordering::AcqRel) {
            self.unsaved.lock().push(Arc::clone(entry));
        }
    }

    /// When the host was last heard by this process.
    pub(crate) fn at(&self, key: HostKey) -> Option<Timestamp> {
        self.hosts.read().get(&key).and_then(|entry| entry.at())
    }

    /// How long the host has to wait with its next reply, since it has sent too much.
    pub(crate) fn wait_of_replies(&self, key: HostKey, now: Timestamp) -> Option<Duration> {
        self.hosts.read().get(&key).and_then(|entry| entry.replies.wait(now))
    }

    /// What changed since the last call.
    pub(crate) fn take_unsaved(&self) -> Vec<(HostKey, Timestamp)> {
        let entries = std::mem::take(&mut *self.unsaved.lock());
        let saved = |entry: Arc<CheckIn>| {
            // Cleared before the time is read: a sign of life in between is saved now, and once more the next time.
            entry.unsaved.store(false, Ordering::Release);
            entry.at().map(|at| (entry.key, at))
        };
        entries.into_iter().filter_map(saved).collect()
    }

    /// Puts back what could not be saved.
    pub(crate) fn give_back(&self, unsaved: &[(HostKey, Timestamp)]) {
        for (key, at) in unsaved {
            if let Some(entry) = self.hosts.read().get(key).cloned() {
                self.record(&entry, *at);
            }
        }
    }

    /// Of how many hosts there are entries.
    pub(crate) fn count(&self) -> usize {
        self.hosts.read().len()
    }

    /// Forgets a host that is gone.
    pub(crate) fn forget(&self, key: HostKey) {
        self.hosts.write().remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use assisted_wire::id::{HostId, InfraEnvId};

    use super::*;

    fn key() -> HostKey {
        HostKey { infra_env_id: InfraEnvId::random(), host_id: HostId::random() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn many_polls_are_one_row_of_one_flush() {
        let check_ins = CheckIns::default();
        let (one, other) = (key(), key());
        for second in 1..=100 {
            check_ins.record(&check_ins.entry(one), at(second));
        }
        check_ins.record(&check_ins.entry(other), at(7));
        assert_eq!(check_ins.take_unsaved(), [(one, at(100)), (other, at(7))]);
        assert_eq!(check_ins.take_unsaved(), []);
        assert_eq!(check_ins.at(one), Some(at(100)));
    }

    #[test]
    fn what_could_not_be_saved_is_saved_later_unless_something_newer_came() {
        let check_ins = CheckIns::default();
        let host = key();
        check_ins.record(&check_ins.entry(host), at(5));
        let lost = check_ins.take_unsaved();
        check_ins.record(&check_ins.entry(host), at(9));
        check_ins.give_back(&lost);
        assert_eq!(check_ins.take_unsaved(), [(host, at(9))]);
        check_ins.forget(host);
        check_ins.give_back(&lost);
        assert_eq!(check_ins.take_unsaved(), []);
    }
}
