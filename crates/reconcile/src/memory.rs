//! A queue in memory, for work that can be found again after a restart.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::traits::{Batch, Ending, Failure, Outcome, Queue, Row};

/// Rows by key. A row that is marked while it is worked on is worked on once more.
pub struct MemoryQueue<K> {
    rows: Mutex<HashMap<K, Entry>>,
    woken: Notify,
    lease: SignedDuration,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

impl<K> fmt::Debug for MemoryQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryQueue").field("rows", &self.rows.lock().len()).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
struct Entry {
    at: Timestamp,
    /// How often it was marked.
    marks: u64,
    /// How often it was taken.
    takes: u64,
    attempts: u32,
    leased_until: Option<Timestamp>,
    last_error: Option<String>,
    aside: bool,
}

/// A row of a [`MemoryQueue`] under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRow<K> {
    pub key: K,
    pub attempts: u32,
    /// What the last attempt failed with.
    pub last_error: Option<String>,
    aside: bool,
    marks: u64,
    takes: u64,
}

impl<K: Clone + fmt::Display + Send + Sync + 'static> Row for MemoryRow<K> {
    fn label(&self) -> String {
        self.key.to_string()
    }

    fn attempts(&self) -> u32 {
        self.attempts
    }

    fn has_failed(&self) -> bool {
        self.last_error.is_some()
    }

    fn was_set_aside(&self) -> bool {
        self.aside
    }
}

impl<K: Clone + Eq + Hash> MemoryQueue<K> {
    /// An empty queue; a lease lasts this long unless it is kept.
    pub fn new(lease: SignedDuration, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { rows: Mutex::default(), woken: Notify::new(), lease, now: Box::new(now) }
    }

    /// Makes a row due at a time, or earlier if it was; one that was set aside stays so.
    pub fn mark(&self, key: K, at: Timestamp) {
        let mut rows = self.rows.lock();
        let new = || Entry {
            at,
            marks: 0,
            takes: 0,
            attempts: 0,
            leased_until: None,
            last_error: None,
            aside: false,
        };
        let entry = rows.entry(key).or_insert_with(new);
        entry.marks += 1;
        if !entry.aside {
            entry.at = entry.at.min(at);
        }
        drop(rows);
        self.woken.notify_one();
    }

    /// Forgets a row: its object is gone.
    pub fn remove(&self, key: &K) {
        self.rows.lock().remove(key);
    }

    /// Makes a row that was set aside due at once; false when there is none.
    pub fn release(&self, key: &K) -> bool {
        let mut rows = self.rows.lock();
        let Some(entry) = rows.get_mut(key).filter(|entry| entry.aside) else { return false };
        (entry.aside, entry.attempts, entry.at) = (false, 0, (self.now)());
        drop(rows);
        self.woken.notify_one();
        true
    }

    /// Keys of the rows that are set aside, with what each failed with last.
    pub fn set_aside(&self) -> Vec<(K, Option<String>)> {
        let rows = self.rows.lock();
        let aside = rows.iter().filter(|(_, entry)| entry.aside);
        aside.map(|(key, entry)| (key.clone(), entry.last_error.clone())).collect()
    }
}

impl<K: Clone + Eq + Hash + fmt::Display + Send + Sync + 'static> Queue for MemoryQueue<K> {
    type Row = MemoryRow<K>;

    fn now(&self) -> Timestamp {
        (self.now)()
    }

    async fn take(&self, limit: usize) -> Result<Batch<Self::Row>, Failure> {
        let now = (self.now)();
        let until = now.checked_add(self.lease).unwrap_or(Timestamp::MAX);
        let mut rows = self.rows.lock();
        let mut due: Vec<_> = rows.iter().filter(|(_, entry)| entry.due_at() <= now).collect();
        due.sort_by_key(|(_, entry)| entry.at);
        let keys: Vec<K> = due.into_iter().take(limit).map(|(key, _)| key.clone()).collect();
        let more = keys.len() == limit;
        let mut taken = Vec::with_capacity(keys.len());
        for key in keys {
            let Some(entry) = rows.get_mut(&key) else { continue };
            // A mark may pull it forward again: that is what is kept for the time after the lease.
            (entry.at, entry.leased_until) = (until, Some(until));
            entry.takes += 1;
            entry.attempts = entry.attempts.saturating_add(1);
            taken.push(MemoryRow {
                key,
                attempts: entry.attempts,
                last_error: entry.last_error.clone(),
                aside: entry.aside,
                marks: entry.marks,
                takes: entry.takes,
            });
        }
        Ok(Batch { rows: taken, more })
    }

    async fn next_at(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.rows.lock().values().map(Entry::due_at).min())
    }

    async fn keep(&self, row: &Self::Row) -> Result<bool, Failure> {
        let until = (self.now)().checked_add(self.lease).unwrap_or(Timestamp::MAX);
        let mut rows = self.rows.lock();
        let Some(entry) = rows.get_mut(&row.key).filter(|entry| entry.takes == row.takes) else {
            return Ok(false);
        };
        entry.leased_until = Some(until);
        Ok(true)
    }

    async fn complete(&self, row: &Self::Row, ending: Ending) -> Result<(), Failure> {
        let now = (self.now)();
        let mut rows = self.rows.lock();
        let Some(entry) = rows.get_mut(&row.key).filter(|entry| entry.takes == row.takes) else {
            return Ok(());
        };
        let is_marked = entry.marks != row.marks;
        let earliest = |at: Timestamp, entry: &Entry| if is_marked { at.min(entry.at) } else { at };
        entry.leased_until = None;
        match ending {
            Ending::Finished(Outcome::After(at)) => {
                let at = earliest(at, entry);
                (entry.at, entry.attempts, entry.last_error, entry.aside) = (at, 0, None, false);
            }
            Ending::Finished(Outcome::Done | Outcome::Wait { .. }) if is_marked => {
                (entry.attempts, entry.last_error, entry.aside) = (0, None, false);
            }
            Ending::Finished(Outcome::Done | Outcome::Wait { .. }) => drop(rows.remove(&row.key)),
            Ending::Failed { error, retry_at } => {
                let at = earliest(retry_at, entry);
                (entry.at, entry.last_error) = (at, Some(error));
            }
            Ending::SetAside { error, retry_at } => {
                (entry.at, entry.last_error, entry.aside) = (retry_at, Some(error), true);
            }
            Ending::GivenBack => entry.at = now,
        }
        Ok(())
    }

    async fn marked(&self) -> bool {
        self.woken.notified().await;
        true
    }
}

impl Entry {
    fn due_at(&self) -> Timestamp {
        self.leased_until.map_or(self.at, |until| until.max(self.at))
    }
}
