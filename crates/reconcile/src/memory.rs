//! A queue in memory, for work that can be found again after a restart.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::traits::{Batch, Ending, Failure, Outcome, Queue, Row};

/// Rows by key. A row that is marked while it is worked on is worked on once more.
pub struct MemoryQueue<K> {
    rows: Mutex<Rows<K>>,
    woken: Notify,
    lease: SignedDuration,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
}

impl<K> fmt::Debug for MemoryQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryQueue").field("rows", &self.rows.lock().by_key.len()).finish_non_exhaustive()
    }
}

/// Rows by key, and in the order in which they are due: what is taken, and what is waited for, stands in front, however many there are.
struct Rows<K> {
    by_key: HashMap<K, Entry>,
    by_time: BTreeMap<QueuePosition, K>,
    /// How many there ever were.
    made: u64,
}

/// When a row is due, and its number: of those that are due at once, the oldest comes first.
type QueuePosition = (Timestamp, u64);

impl<K> Default for Rows<K> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), by_time: BTreeMap::new(), made: 0 }
    }
}

impl<K: Clone + Eq + Hash> Rows<K> {
    /// Changes a row, and puts it in its place; `None` when there is none.
    fn change<T>(&mut self, key: &K, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        let entry = self.by_key.get_mut(key)?;
        let before = entry.position();
        let changed = change(entry);
        let after = entry.position();
        if before != after {
            self.by_time.remove(&before);
            self.by_time.insert(after, key.clone());
        }
        Some(changed)
    }

    /// Adds a row that was marked for the first time.
    fn add(&mut self, key: K, at: Timestamp) {
        self.made += 1;
        let entry = Entry {
            number: self.made,
            at,
            marks: 1,
            takes: 0,
            attempts: 0,
            leased_until: None,
            last_error: None,
            aside: false,
        };
        self.by_time.insert(entry.position(), key.clone());
        self.by_key.insert(key, entry);
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_time.remove(&entry.position());
        }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    number: u64,
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
        let known = rows.change(&key, |entry| {
            entry.marks += 1;
            if !entry.aside {
                entry.at = entry.at.min(at);
            }
        });
        if known.is_none() {
            rows.add(key, at);
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
        let now = (self.now)();
        let released = self.rows.lock().change(key, |entry| {
            let was_aside = std::mem::take(&mut entry.aside);
            if was_aside {
                (entry.attempts, entry.at) = (0, now);
            }
            was_aside
        });
        if released != Some(true) {
            return false;
        }
        self.woken.notify_one();
        true
    }

    /// Keys of the rows that are set aside, with what each failed with last.
    pub fn set_aside(&self) -> Vec<(K, Option<String>)> {
        let rows = self.rows.lock();
        let aside = rows.by_key.iter().filter(|(_, entry)| entry.aside);
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
        let due = rows.by_time.iter().take_while(|((at, _), _)| *at <= now).take(limit);
        let keys: Vec<K> = due.map(|(_, key)| key.clone()).collect();
        let more = keys.len() == limit;
        let mut taken = Vec::with_capacity(keys.len());
        for key in keys {
            let row = rows.change(&key, |entry| {
                // A mark may pull it forward again: that is what is kept for the time after the lease.
                (entry.at, entry.leased_until) = (until, Some(until));
                entry.takes += 1;
                entry.attempts = entry.attempts.saturating_add(1);
                MemoryRow {
                    key: key.clone(),
                    attempts: entry.attempts,
                    last_error: entry.last_error.clone(),
                    aside: entry.aside,
                    marks: entry.marks,
                    takes: entry.takes,
                }
            });
            taken.extend(row);
        }
        Ok(Batch { rows: taken, more })
    }

    async fn next_at(&self) -> Result<Option<Timestamp>, Failure> {
        Ok(self.rows.lock().by_time.first_key_value().map(|((at, _), _)| *at))
    }

    async fn keep(&self, row: &Self::Row) -> Result<bool, Failure> {
        let until = (self.now)().checked_add(self.lease).unwrap_or(Timestamp::MAX);
        let kept = self.rows.lock().change(&row.key, |entry| {
            let is_held = entry.takes == row.takes;
            if is_held {
                entry.leased_until = Some(until);
            }
            is_held
        });
        Ok(kept == Some(true))
    }

    async fn complete(&self, row: &Self::Row, ending: Ending) -> Result<(), Failure> {
        let now = (self.now)();
        let mut rows = self.rows.lock();
        let stays =
            rows.change(&row.key, |entry| entry.takes != row.takes || entry.end(row.marks, ending, now));
        if stays == Some(false) {
            rows.remove(&row.key);
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

    fn position(&self) -> QueuePosition {
        (self.due_at(), self.number)
    }

    /// Notes how an attempt ended that began when the row had been marked so often; whether the row stays.
    fn end(&mut self, marks: u64, ending: Ending, now: Timestamp) -> bool {
        let is_marked = self.marks != marks;
        let earliest = |at: Timestamp, marked: Timestamp| if is_marked { at.min(marked) } else { at };
        self.leased_until = None;
        match ending {
            Ending::Finished(Outcome::After(at)) => {
                let at = earliest(at, self.at);
                (self.at, self.attempts, self.last_error, self.aside) = (at, 0, None, false);
            }
            Ending::Finished(Outcome::Done | Outcome::Wait { .. }) => {
                (self.attempts, self.last_error, self.aside) = (0, None, false);
                return is_marked;
            }
            Ending::Failed { error, retry_at } => {
                let at = earliest(retry_at, self.at);
                (self.at, self.last_error) = (at, Some(error));
            }
            Ending::SetAside { error, retry_at } => {
                (self.at, self.last_error, self.aside) = (retry_at, Some(error), true);
            }
            Ending::GivenBack => self.at = now,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    fn second(number: i64) -> Timestamp {
        Timestamp::from_second(number).unwrap()
    }

    /// A queue, and the clock that it reads.
    fn queue() -> (MemoryQueue<u32>, Arc<AtomicI64>) {
        let clock = Arc::new(AtomicI64::new(0));
        let read = Arc::clone(&clock);
        (MemoryQueue::new(SignedDuration::from_secs(60), move || second(read.load(Ordering::Relaxed))), clock)
    }

    async fn taken(queue: &MemoryQueue<u32>, limit: usize) -> Vec<MemoryRow<u32>> {
        queue.take(limit).await.unwrap().rows
    }

    fn keys(rows: &[MemoryRow<u32>]) -> Vec<u32> {
        rows.iter().map(|row| row.key).collect()
    }

    #[tokio::test]
    async fn rows_come_in_the_order_in_which_they_are_due_and_then_of_their_coming() {
        let (queue, clock) = queue();
        for (key, at) in [(1, 5), (2, 3), (3, 3), (4, 9), (3, 4), (4, 1)] {
            queue.mark(key, second(at));
        }
        assert_eq!(queue.next_at().await.unwrap(), Some(second(1)));
        assert!(taken(&queue, 8).await.is_empty());
        clock.store(4, Ordering::Relaxed);
        let first = taken(&queue, 2).await;
        assert_eq!(keys(&first), [4, 2]);
        assert_eq!(keys(&taken(&queue, 8).await), [3]);
        assert_eq!(queue.next_at().await.unwrap(), Some(second(5)));
        queue.complete(&first[0], Ending::Finished(Outcome::After(second(7)))).await.unwrap();
        queue.complete(&first[1], Ending::Finished(Outcome::Done)).await.unwrap();
        clock.store(8, Ordering::Relaxed);
        assert_eq!(keys(&taken(&queue, 8).await), [1, 4]);
        // The lease of what nobody gave back runs out.
        assert_eq!(queue.next_at().await.unwrap(), Some(second(64)));
        queue.remove(&3);
        assert_eq!(queue.next_at().await.unwrap(), Some(second(68)));
    }

    #[tokio::test]
    async fn a_row_that_is_marked_while_it_is_worked_on_is_taken_once_more() {
        let (queue, clock) = queue();
        queue.mark(1, second(0));
        for ending in [
            Ending::Finished(Outcome::Done),
            Ending::Finished(Outcome::After(second(50))),
            Ending::Failed { error: "no".to_owned(), retry_at: second(50) },
        ] {
            let rows = taken(&queue, 1).await;
            queue.mark(1, second(0));
            assert!(taken(&queue, 1).await.is_empty(), "it is worked on");
            queue.complete(&rows[0], ending).await.unwrap();
            assert_eq!(queue.next_at().await.unwrap(), Some(second(0)));
        }
        let late = taken(&queue, 1).await;
        clock.store(60, Ordering::Relaxed);
        let other = taken(&queue, 1).await;
        assert!(!queue.keep(&late[0]).await.unwrap() && queue.keep(&other[0]).await.unwrap());
        queue.complete(&late[0], Ending::Finished(Outcome::Done)).await.unwrap();
        assert_eq!(queue.next_at().await.unwrap(), Some(second(120)), "whoever was late changes nothing");
        queue
            .complete(&other[0], Ending::SetAside { error: "no".to_owned(), retry_at: second(200) })
            .await
            .unwrap();
        queue.mark(1, second(60));
        assert_eq!(queue.next_at().await.unwrap(), Some(second(200)));
        assert!(queue.release(&1) && !queue.release(&1) && !queue.release(&2));
        let rows = taken(&queue, 1).await;
        queue.complete(&rows[0], Ending::Finished(Outcome::Done)).await.unwrap();
        assert_eq!(queue.next_at().await.unwrap(), None);
    }
}
