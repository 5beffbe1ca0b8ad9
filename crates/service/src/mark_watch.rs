//! How a queue hears that one of its rows was marked: by this replica or by another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, watch};

/// The marks of a table of work, and the last one that was taken notice of.
#[derive(Clone)]
pub(crate) struct MarkWatch {
    marks: watch::Receiver<u64>,
    seen: Arc<AtomicU64>,
}

impl MarkWatch {
    /// Takes notice of marks from now on.
    pub(crate) fn new(marks: watch::Receiver<u64>) -> Self {
        let seen = Arc::new(AtomicU64::new(*marks.borrow()));
        Self { marks, seen }
    }

    /// Takes notice of all marks so far: to be called before the rows are taken, so that none is missed.
    pub(crate) fn mark_seen(&self) {
        self.seen.store(*self.marks.borrow(), Ordering::Release);
    }

    /// Waits for a mark that was not taken notice of, or for a call within this process; `false`: no mark will ever come.
    pub(crate) async fn marked(&self, woken: &Notify) -> bool {
        let mut marks = self.marks.clone();
        let seen = self.seen.load(Ordering::Acquire);
        let marked = async { marks.wait_for(|mark| *mark != seen).await.map(|mark| *mark).ok() };
        tokio::select! {
            marked = marked => {
                let Some(mark) = marked else { return false };
                self.seen.store(mark, Ordering::Release);
                true
            }
            () = woken.notified() => true,
        }
    }
}
