//! How much one host may have the service read, judge and write: others share the processors and the disk with it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

/// What a host may send in so long, it may send at once. Each step is done about once a minute, so that this holds all that an honest one has
/// to tell.
const BURST: Duration = Duration::from_secs(60);

/// The budget of one host, in this process.
#[derive(Debug, Default)]
pub(crate) struct ReplyBudget {
    /// When all that was read would have come at the rate that is allowed, in microseconds since the Unix epoch.
    spent_until: AtomicI64,
}

impl ReplyBudget {
    /// How long the host has to wait with its next reply; `None`: it may send one of any size.
    pub(crate) fn wait(&self, now: Timestamp) -> Option<Duration> {
        let ahead = self.spent_until.load(Ordering::Acquire).saturating_sub(now.as_microsecond());
        Duration::from_micros(u64::try_from(ahead).ok()?).checked_sub(BURST).filter(|wait| !wait.is_zero())
    }

    /// Counts a reply of so many bytes, of which the host may send `rate` each second.
    pub(crate) fn spend(&self, bytes: usize, rate: NonZeroUsize, now: Timestamp) {
        let takes = i64::try_from(bytes.saturating_mul(1_000_000) / rate).unwrap_or(i64::MAX);
        let spend = |until: i64| Some(until.max(now.as_microsecond()).saturating_add(takes));
        // It always has a next value.
        let _ = self.spent_until.fetch_update(Ordering::AcqRel, Ordering::Acquire, spend);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: NonZeroUsize = NonZeroUsize::new(1 << 20).unwrap();
    const REPORT: usize = 15 << 20;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn some_at_once_and_then_one_after_the_other() {
        let budget = ReplyBudget::default();
        let some = |second: i64| {
            for _ in 0..5 {
                assert_eq!(budget.wait(at(second)), None);
                budget.spend(REPORT, RATE, at(second));
            }
            assert_eq!(budget.wait(at(second)), Some(Duration::from_secs(15)));
        };
        some(1_000);
        assert_eq!(budget.wait(at(1_014)), Some(Duration::from_secs(1)));
        assert_eq!(budget.wait(at(1_015)), None);
        budget.spend(REPORT, RATE, at(1_015));
        assert_eq!(budget.wait(at(1_015)), Some(Duration::from_secs(15)));
        // Who was quiet may send as much at once as before, and no more.
        some(9_000);
    }

    #[test]
    fn who_sends_at_its_rate_never_waits() {
        let budget = ReplyBudget::default();
        for minute in 1..100 {
            for _ in 0..4 {
                assert_eq!(budget.wait(at(60 * minute)), None);
                budget.spend(REPORT, RATE, at(60 * minute));
            }
        }
    }

    #[test]
    fn no_number_breaks_it() {
        let budget = ReplyBudget::default();
        budget.spend(usize::MAX, NonZeroUsize::MIN, Timestamp::MAX);
        budget.spend(usize::MAX, NonZeroUsize::MIN, Timestamp::MAX);
        assert!(budget.wait(Timestamp::MAX).is_some());
        assert!(budget.wait(Timestamp::MIN).is_some());
    }
}
