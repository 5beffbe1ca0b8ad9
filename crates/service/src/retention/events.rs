//! Events of what is not there, or of nothing at all, are deleted: nobody else would, and whoever may tell events can tell such.

use std::sync::atomic::Ordering;

use assisted_store::Batch;
use jiff::Timestamp;

use super::{STEP, Sweeper};
use crate::attempt::AttemptError;

/// So many events are looked at at once. They are looked at in the order of their numbers: no index finds those that go.
const LOOK: u32 = 1000;

impl Sweeper {
    /// Deletes those of the next events that were told before and are of nothing there is; returns as many as may go at once
    /// as long as there are more to be looked at.
    pub(super) async fn delete_events_of_nothing(&self, before: Timestamp) -> Result<usize, AttemptError> {
        let above = self.events_seen.load(Ordering::Relaxed);
        let last = self.database.reader().event_number(above, LOOK).await?;
        let mut batch = Batch::new();
        batch.delete_events_of_nothing(above, last.unwrap_or(i64::MAX), before);
        self.database.commit_silently(batch).await?;
        // From the first again after the last.
        self.events_seen.store(last.unwrap_or(0), Ordering::Relaxed);
        Ok(last.map_or(0, |_| STEP))
    }
}
