//! Deadlines: the moments at which a time limit is over.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// The moment at which a time is over; still in time itself.
pub fn after(since: Timestamp, limit: Duration) -> Timestamp {
    let limit = SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX);
    since.saturating_add(limit).unwrap_or(Timestamp::MAX)
}
