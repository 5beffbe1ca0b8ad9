//! Trying again: how long to wait after a failure, and when to give up.

use std::fmt::Display;
use std::time::Duration;

use rand::Rng;
use tracing::warn;

/// How a pause is spread, so that many who failed together don't come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// As long as was said.
    None,
    /// Between half of it and all of it.
    Half,
    /// Between nothing and all of it.
    Full,
}

/// Pauses between attempts: each is twice as long as the one before, up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
    pub jitter: Jitter,
}

impl Backoff {
    /// Pauses that are all the same.
    pub const fn constant(pause: Duration) -> Self {
        Self { first: pause, longest: pause, jitter: Jitter::None }
    }

    /// How long to wait after the `failures`-th failure in a row, counted from 1.
    pub fn pause(&self, failures: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = self.first.saturating_mul(doubled).min(self.longest);
        match self.jitter {
            Jitter::None => pause,
            Jitter::Half => pause.mul_f64(rand::rng().random_range(0.5..=1.0)),
            Jitter::Full => pause.mul_f64(rand::rng().random_range(0.0..=1.0)),
        }
    }
}

/// The attempts at one thing.
#[derive(Debug)]
pub struct Attempts {
    most: u32,
    backoff: Backoff,
    failed: u32,
}

impl Attempts {
    /// Up to `most` attempts, at least one.
    pub fn new(most: u32, backoff: Backoff) -> Self {
        Self { most, backoff, failed: 0 }
    }

    /// Waits after an attempt that failed.
    ///
    /// # Errors
    /// The error, when that was the last attempt; there is no pause after it.
    pub async fn again<E: Display>(&mut self, error: E) -> Result<(), E> {
        self.failed += 1;
        if self.failed >= self.most {
            return Err(error);
        }
        warn!(attempt = self.failed, %error, "trying again");
        tokio::time::sleep(self.backoff.pause(self.failed)).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_double_to_an_end() {
        let backoff = Backoff { first: SECOND, longest: SECOND * 300, jitter: Jitter::None };
        for (failures, seconds) in [(1, 1), (2, 2), (4, 8), (9, 256), (10, 300), (33, 300), (u32::MAX, 300)] {
            assert_eq!(backoff.pause(failures), SECOND * seconds, "{failures}");
        }
        assert_eq!(Backoff::constant(SECOND).pause(7), SECOND);
        let endless = Backoff { longest: Duration::MAX, ..backoff };
        assert!(endless.pause(u32::MAX) > SECOND * 1_000_000);
    }

    #[test]
    fn pauses_are_spread() {
        let of = |jitter| {
            let backoff = Backoff { first: SECOND, longest: SECOND * 4, jitter };
            (0..1_000).map(|_| backoff.pause(3)).collect::<Vec<_>>()
        };
        assert!(of(Jitter::Half).iter().all(|pause| (SECOND * 2..=SECOND * 4).contains(pause)));
        let full = of(Jitter::Full);
        assert!(
            full.iter().all(|pause| *pause <= SECOND * 4) && full.iter().any(|pause| *pause < SECOND * 2)
        );
    }

    #[tokio::test]
    async fn the_last_error_counts() {
        for (most, tried) in [(3, 3), (1, 1), (0, 1)] {
            let mut attempts = Attempts::new(most, Backoff::constant(Duration::ZERO));
            let mut failed = 1;
            while attempts.again(failed).await.is_ok() {
                failed += 1;
            }
            assert_eq!(failed, tried, "of {most}");
        }
    }
}
