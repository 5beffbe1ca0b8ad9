//! The time. It never jumps: what the system's clock is set to, hour by hour, reaches leases and limits slowly.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;

/// How much faster or slower than the real time a clock runs while it makes up for a jump: one part in so many, three minutes an
/// hour. Limits and leases are off by as much, and by no more.
const SLOWNESS: i32 = 20;

/// A difference from the reference that is worth a word in the log.
const JUMP: SignedDuration = SignedDuration::from_secs(5);

/// The clock that use cases read; clones show the same time.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    /// A test's own.
    Injected(Source),
    Steady(Arc<Steady>),
}

type Source = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A clock that runs with the time since the start of the machine, and follows a reference without ever jumping or running
/// backwards.
struct Steady {
    /// The clock of the system, or a test's.
    system: Source,
    adjustment: RwLock<Adjustment>,
}

/// How a clock is adjusted since it was last compared with its reference.
#[derive(Clone, Copy)]
struct Adjustment {
    since: Instant,
    /// What it showed then.
    from: Timestamp,
    /// How far the reference was ahead then; negative: behind.
    ahead: SignedDuration,
}

impl Adjustment {
    fn at(&self, moment: Instant) -> Timestamp {
        let passed = elapsed(self.since, moment);
        self.from.saturating_add(passed.saturating_add(self.made_up(passed))).unwrap_or(self.from)
    }

    /// How much of the difference is made up for when so much time has passed.
    fn made_up(&self, passed: SignedDuration) -> SignedDuration {
        let most = passed / SLOWNESS;
        self.ahead.clamp(-most, most)
    }
}

impl Clock {
    /// A clock of one's own, which follows nothing.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Kind::Injected(Arc::new(now)))
    }

    /// A clock that begins with what another tells now, and [follows](Self::follow) it from then on.
    pub fn following(system: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let adjustment = Adjustment { since: Instant::now(), from: system(), ahead: SignedDuration::ZERO };
        Self(Kind::Steady(Arc::new(Steady { system: Arc::new(system), adjustment: RwLock::new(adjustment) })))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Kind::Injected(now) => now(),
            Kind::Steady(steady) => steady.adjustment.read().at(Instant::now()),
        }
    }

    /// Takes over at once what a reference tells; for a start, when nothing has been told yet. `None`: the system's clock is the
    /// reference. The clock of a test stays as it is.
    pub(crate) fn set(&self, reference: Option<Timestamp>) {
        if let Kind::Steady(steady) = &self.0 {
            let from = reference.unwrap_or_else(|| (steady.system)());
            *steady.adjustment.write() =
                Adjustment { since: Instant::now(), from, ahead: SignedDuration::ZERO };
        }
    }

    /// Compares with what a reference tells, and makes up for the difference slowly. `None`: the system's clock is the
    /// reference.
    pub(crate) fn follow(&self, reference: Option<Timestamp>) {
        let Kind::Steady(steady) = &self.0 else { return };
        let reference = reference.unwrap_or_else(|| (steady.system)());
        let mut adjustment = steady.adjustment.write();
        let since = Instant::now();
        let from = adjustment.at(since);
        let ahead = reference.duration_since(from);
        // What is left of the last difference was told of then.
        let left = adjustment.ahead.saturating_sub(adjustment.made_up(elapsed(adjustment.since, since)));
        *adjustment = Adjustment { since, from, ahead };
        drop(adjustment);
        if ahead.saturating_sub(left).abs() > JUMP {
            let hours = ahead.abs().as_secs_f64() * f64::from(SLOWNESS) / 3600.0;
            tracing::warn!(
                seconds = ahead.as_secs(),
                "the clock of this machine, or of the database, jumped; limits and leases go on, and the service's time follows it within \
                 {hours:.1} hours"
            );
        }
    }
}

fn elapsed(from: Instant, to: Instant) -> SignedDuration {
    SignedDuration::try_from(to.saturating_duration_since(from)).unwrap_or(SignedDuration::MAX)
}

impl Default for Clock {
    /// Follows the system's clock.
    fn default() -> Self {
        Self::following(Timestamp::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn adjustment(ahead: SignedDuration) -> (Adjustment, Instant, Timestamp) {
        let (since, from) = (Instant::now(), "2026-01-02T03:04:05Z".parse().unwrap());
        (Adjustment { since, from, ahead }, since, from)
    }

    #[test]
    fn a_jump_is_made_up_for_slowly_and_not_beyond_it() {
        for (ahead, after_a_minute, after_a_day) in [
            (HOUR, 63, 24 * 3600 + 3600),
            (-HOUR, 57, 24 * 3600 - 3600),
            (SignedDuration::ZERO, 60, 24 * 3600),
        ] {
            let (adjustment, since, from) = adjustment(ahead);
            let told = |seconds: u64| {
                (adjustment.at(since + Duration::from_secs(seconds)).duration_since(from)).as_secs()
            };
            assert_eq!(told(60), after_a_minute, "{ahead}");
            assert_eq!(told(24 * 3600), after_a_day, "{ahead}");
        }
    }

    #[test]
    fn it_never_runs_backwards_and_starts_with_its_reference() {
        let at = "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap();
        let clock = Clock::following(move || at);
        let first = clock.now();
        assert!(first >= at);
        clock.follow(Some(at - HOUR));
        let second = clock.now();
        assert!(second >= first && second.duration_since(first) < HOUR, "{first} {second}");
        clock.follow(Some(at + HOUR));
        let third = clock.now();
        assert!(third >= second && third.duration_since(second) < HOUR, "{second} {third}");
        clock.set(Some(at + HOUR));
        assert!(clock.now() >= at + HOUR);
    }
}
