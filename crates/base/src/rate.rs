//! Who is too slow: bytes that have to pass in a time, on average, so that nobody keeps a place by a byte now and then.

use std::io;
use std::time::{Duration, Instant};

/// How fast bytes have to pass.
#[derive(Clone, Copy, Debug)]
pub struct MinimumRate {
    pub bytes_per_second: u64,
    /// Over which time on average.
    pub window: Duration,
}

/// A window has ended in which too few bytes passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too few bytes passed in too long a time")]
pub struct TooSlow;

impl From<TooSlow> for io::Error {
    fn from(slow: TooSlow) -> Self {
        Self::new(io::ErrorKind::TimedOut, slow)
    }
}

/// What has passed lately.
#[derive(Debug)]
pub struct RateMeter {
    minimum: MinimumRate,
    since: Instant,
    passed: u64,
}

impl RateMeter {
    /// Begins to measure.
    pub fn new(minimum: MinimumRate) -> Self {
        Self { minimum, since: Instant::now(), passed: 0 }
    }

    /// Begins anew: what has been so far counts no more.
    pub fn restart(&mut self) {
        (self.since, self.passed) = (Instant::now(), 0);
    }

    /// Notes bytes that pass now.
    ///
    /// # Errors
    ///
    /// When a window ends with them in which it were too few.
    pub fn note(&mut self, bytes: usize) -> Result<(), TooSlow> {
        self.note_after(bytes, self.since.elapsed())
    }

    fn note_after(&mut self, bytes: usize, time: Duration) -> Result<(), TooSlow> {
        self.passed = self.passed.saturating_add(bytes as u64);
        if time < self.minimum.window {
            return Ok(());
        }
        if (self.passed as f64) < time.as_secs_f64() * self.minimum.bytes_per_second as f64 {
            return Err(TooSlow);
        }
        self.restart();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_judged_by_itself() {
        let minimum = MinimumRate { bytes_per_second: 100, window: Duration::from_secs(10) };
        let mut meter = RateMeter::new(minimum);
        let after = Duration::from_secs;
        assert_eq!(meter.note_after(1, after(9)), Ok(()));
        assert_eq!(meter.note_after(999, after(10)), Ok(()));
        // What passed in the window before is of no use in this one.
        assert_eq!(meter.note_after(999, after(9)), Ok(()));
        assert_eq!(meter.note_after(0, after(10)), Err(TooSlow));
        meter.restart();
        assert_eq!(meter.note_after(1100, after(11)), Ok(()));
        assert_eq!(meter.note_after(1199, after(12)), Err(TooSlow));
        let mut any = RateMeter::new(MinimumRate { bytes_per_second: 0, ..minimum });
        assert_eq!(any.note_after(0, after(1000)), Ok(()));
    }
}
