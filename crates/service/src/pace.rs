//! How due work and actions are driven: intervals, leases, and what failed work waits for.

use std::time::Duration;

use assisted_base::retry::{Backoff, Jitter};
use assisted_reconcile::Policy;
use jiff::SignedDuration;

/// How long work belongs to its taker. One that dies delays its work by as much.
pub(crate) const LEASE: SignedDuration = SignedDuration::from_secs(10);
/// The shortest rest that only the clock ends: what falls due within it is taken together. Changes do not wait for it.
pub(crate) const SHORTEST_REST: Duration = Duration::from_secs(1);

/// What all work has in common.
pub(crate) fn policy() -> Policy {
    Policy {
        at_once: 1,
        time_limit: Duration::from_secs(60),
        keep: Duration::from_secs(3),
        backoff: Backoff {
            first: Duration::from_secs(2),
            longest: Duration::from_secs(64),
            jitter: Jitter::None,
        },
        // Twenty failures take a quarter of an hour.
        most_failures: 20,
        most_crashes: 3,
        aside: Duration::from_secs(3600),
        longest_rest: Duration::from_secs(10),
        shortest_rest: SHORTEST_REST,
        give_back: false,
    }
}
