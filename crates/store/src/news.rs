//! Tells who listens in this process what was written, here or by another replica.

use tokio::sync::{broadcast, watch};

use crate::subject::{Change, Marks, Subject};

/// News that a receiver may lag behind before it misses some.
const BACKLOG: usize = 16_384;

#[derive(Debug)]
pub(crate) struct News {
    changes: broadcast::Sender<Change>,
    due: watch::Sender<u64>,
    actions: watch::Sender<u64>,
    events: watch::Sender<u64>,
}

impl Default for News {
    fn default() -> Self {
        Self {
            changes: broadcast::Sender::new(BACKLOG),
            due: watch::Sender::new(0),
            actions: watch::Sender::new(0),
            events: watch::Sender::new(0),
        }
    }
}

impl News {
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

    /// Tells of a committed batch of this process.
    pub(crate) fn here(&self, subjects: &[Subject]) {
        let mut marks = Marks::default();
        for subject in subjects {
            if !marks.note(*subject) {
                self.tell(Change::Here(*subject));
            }
        }
        self.mark(marks);
    }

    /// Tells of another replica's commit.
    pub(crate) fn elsewhere(&self, subjects: &[Subject], marks: Marks) {
        for subject in subjects {
            self.tell(Change::Elsewhere(*subject));
        }
        self.mark(marks);
    }

    /// Tells that news from other replicas may have been missed.
    pub(crate) fn everything(&self) {
        self.tell(Change::Everything);
        self.mark(Marks { due: true, actions: true, events: true });
    }

    fn tell(&self, change: Change) {
        // Fails only when nobody listens.
        let _ = self.changes.send(change);
    }

    fn mark(&self, marks: Marks) {
        for (marked, marks) in
            [(marks.due, &self.due), (marks.actions, &self.actions), (marks.events, &self.events)]
        {
            if marked {
                marks.send_modify(|marks| *marks = marks.wrapping_add(1));
            }
        }
    }
}
