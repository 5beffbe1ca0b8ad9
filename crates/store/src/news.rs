//! Tells who listens in this process what was written, here or by another replica.

use tokio::sync::{broadcast, watch};

use crate::subject::{Change, Subject};

/// News that a receiver may lag behind before it misses some.
const BACKLOG: usize = 16_384;

#[derive(Debug)]
pub(crate) struct News {
    changes: broadcast::Sender<Change>,
    due: watch::Sender<u64>,
    actions: watch::Sender<u64>,
}

impl Default for News {
    fn default() -> Self {
        Self {
            changes: broadcast::Sender::new(BACKLOG),
            due: watch::Sender::new(0),
            actions: watch::Sender::new(0),
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

    /// Tells of a committed batch of this process.
    pub(crate) fn here(&self, subjects: &[Subject]) {
        let (mut due, mut actions) = (false, false);
        for subject in subjects {
            match subject {
                Subject::Due(_) => due = true,
                Subject::Actions(_) => actions = true,
                _ => self.tell(Change::Here(*subject)),
            }
        }
        self.mark(due, actions);
    }

    /// Tells of another replica's commit.
    pub(crate) fn elsewhere(&self, subjects: &[Subject], due: bool, actions: bool) {
        for subject in subjects {
            self.tell(Change::Elsewhere(*subject));
        }
        self.mark(due, actions);
    }

    /// Tells that news from other replicas may have been missed.
    pub(crate) fn everything(&self) {
        self.tell(Change::Everything);
        self.mark(true, true);
    }

    fn tell(&self, change: Change) {
        // Fails only when nobody listens.
        let _ = self.changes.send(change);
    }

    fn mark(&self, due: bool, actions: bool) {
        for (marked, marks) in [(due, &self.due), (actions, &self.actions)] {
            if marked {
                marks.send_modify(|marks| *marks = marks.wrapping_add(1));
            }
        }
    }
}
