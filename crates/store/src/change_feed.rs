//! Publishes commits, of this process and of other replicas, to the listeners in this process.

use std::sync::{Arc, Weak};

use parking_lot::RwLock;
use tokio::sync::{broadcast, watch};

use crate::observer::Observer;
use crate::subject::{Change, Subject, UnkeyedMarks};

/// Changes that a receiver may lag behind before it misses some.
const BACKLOG: usize = 16_384;

#[derive(Debug)]
pub(crate) struct ChangeFeed {
    changes: broadcast::Sender<Change>,
    due: watch::Sender<u64>,
    actions: watch::Sender<u64>,
    events: watch::Sender<u64>,
    observers: RwLock<Vec<Weak<dyn Observer>>>,
}

impl Default for ChangeFeed {
    fn default() -> Self {
        Self {
            changes: broadcast::Sender::new(BACKLOG),
            due: watch::Sender::new(0),
            actions: watch::Sender::new(0),
            events: watch::Sender::new(0),
            observers: RwLock::default(),
        }
    }
}

impl ChangeFeed {
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    pub(crate) fn due_marks(&self) -> watch::Receiver<u64> {
        self.due.subscribe()
    }

    pub(crate) fn action_marks(&self) -> watch::Receiver<u64> {
        self.actions.subscribe()
    }

    pub(crate) fn event_marks(&self) -> watch::Receiver<u64> {
        self.events.subscribe()
    }

    /// Calls an observer with every commit from now on, for as long as it lives.
    pub(crate) fn observe(&self, observer: &Arc<dyn Observer>) {
        let mut observers = self.observers.write();
        observers.retain(|known| known.strong_count() > 0);
        observers.push(Arc::downgrade(observer));
    }

    /// Publishes what a batch of this process has written.
    pub(crate) fn ended(&self, subjects: &[Subject], committed: bool) {
        self.each_observer(|observer| observer.ended(subjects, committed));
        if !committed {
            return;
        }
        let mut marks = UnkeyedMarks::default();
        for subject in subjects {
            marks.record(*subject);
            if subject.is_object() {
                self.publish(Change::Here(*subject));
            }
        }
        self.mark(marks);
    }

    /// Publishes another replica's commit.
    pub(crate) fn elsewhere(&self, subjects: &[Subject], marks: UnkeyedMarks) {
        self.each_observer(|observer| observer.elsewhere(subjects));
        for subject in subjects.iter().filter(|subject| subject.is_object()) {
            self.publish(Change::Elsewhere(*subject));
        }
        self.mark(marks);
    }

    /// Publishes that notifications of other replicas may have been missed.
    pub(crate) fn everything(&self) {
        self.each_observer(|observer| observer.missed());
        self.publish(Change::Everything);
        self.mark(UnkeyedMarks { due: true, actions: true, events: true });
    }

    fn each_observer(&self, call: impl Fn(&dyn Observer)) {
        for observer in self.observers.read().iter() {
            if let Some(observer) = observer.upgrade() {
                call(&*observer);
            }
        }
    }

    fn publish(&self, change: Change) {
        // Fails only when nobody listens.
        let _ = self.changes.send(change);
    }

    fn mark(&self, marks: UnkeyedMarks) {
        for (marked, marks) in
            [(marks.due, &self.due), (marks.actions, &self.actions), (marks.events, &self.events)]
        {
            if marked {
                marks.send_modify(|marks| *marks = marks.wrapping_add(1));
            }
        }
    }
}
