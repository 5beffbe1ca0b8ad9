//! How long those rest who wait for work, and how long failed work waits.

use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use jiff::{SignedDuration, Timestamp};

/// The longest rest: a wake-up that got lost costs no more than this.
pub(crate) const LONGEST_REST: Duration = Duration::from_secs(10);
/// The shortest rest that only the clock ends: what falls due within it is taken together. Changes do not wait for it.
pub(crate) const SHORTEST_REST: Duration = Duration::from_secs(1);
/// How long work belongs to its taker. One that dies delays its work by as much.
pub(crate) const LEASE: SignedDuration = SignedDuration::from_secs(10);
/// How often a lease is renewed where work may take longer.
pub(crate) const KEEP: Duration = Duration::from_secs(3);
/// Between a failure and the next attempt.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(2), longest: Duration::from_secs(64), jitter: Jitter::None };

/// How long to rest until a moment; `None`: nothing is waited for.
pub(crate) fn rest(now: Timestamp, next: Option<Timestamp>) -> Duration {
    next.map_or(LONGEST_REST, |next| Duration::try_from(next.duration_since(now)).unwrap_or_default())
        .clamp(SHORTEST_REST, LONGEST_REST)
}

/// When to try again what failed for the `attempts`th time.
pub(crate) fn retry_at(now: Timestamp, attempts: u32) -> Timestamp {
    now.checked_add(BACKOFF.pause(attempts)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_are_bounded_and_pauses_grow() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (next, seconds) in [(None, 10), (Some(at(0)), 1), (Some(at(104)), 4), (Some(at(1000)), 10)] {
            assert_eq!(rest(at(100), next), Duration::from_secs(seconds));
        }
        for (attempts, second) in [(1, 102), (3, 108), (6, 164), (u32::MAX, 164)] {
            assert_eq!(retry_at(at(100), attempts), at(second));
        }
        assert_eq!(retry_at(Timestamp::MAX, 1), Timestamp::MAX);
    }
}
