//! Who caches what the database holds, and must hear of each commit.

use std::fmt::Debug;

use crate::subject::Subject;

/// Observes commits where they are made, so that no writer has to think of caches. It is called on the thread that
/// writes and must neither wait nor take long.
pub trait Observer: Debug + Send + Sync {
    /// A batch of this process ended: it was committed, or it failed, or (when the connection broke) nobody knows and
    /// `committed` is false. What was read of these subjects before is stale. The writer hears of the end after this returns.
    fn ended(&self, subjects: &[Subject], committed: bool);

    /// Another replica committed a batch that touches these subjects.
    fn elsewhere(&self, subjects: &[Subject]);

    /// News of other replicas may be missing: everything that was read before may be stale.
    fn missed(&self);
}
