//! How often each of many does something in a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Those who are remembered; past it those whose time is over are forgotten, and if that is not enough, all.
const MOST: usize = 10_000;

/// Counts within windows of time.
#[derive(Debug)]
pub(super) struct Window<K> {
    length: Duration,
    counts: Mutex<HashMap<K, (usize, Instant)>>,
}

impl<K: Eq + Hash> Window<K> {
    pub(super) fn new(length: Duration) -> Self {
        Self { length, counts: Mutex::default() }
    }

    /// Counts one more; the error is how long to wait before the next.
    pub(super) fn pass(&self, key: K, most: NonZeroUsize) -> Result<(), Duration> {
        self.pass_at(key, most, Instant::now())
    }

    fn pass_at(&self, key: K, most: NonZeroUsize, now: Instant) -> Result<(), Duration> {
        let mut counts = self.counts.lock();
        if counts.len() >= MOST {
            counts.retain(|_, (_, begin)| now.duration_since(*begin) < self.length);
            if counts.len() >= MOST {
                counts.clear();
            }
        }
        let entry = counts.entry(key).or_insert((0, now));
        let passed = now.saturating_duration_since(entry.1);
        if passed >= self.length {
            *entry = (0, now);
        } else if entry.0 >= most.get() {
            return Err(self.length - passed);
        }
        entry.0 += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_while() {
        let window = Window::new(Duration::from_secs(60));
        let (two, now) = (NonZeroUsize::new(2).unwrap(), Instant::now());
        let later = now + Duration::from_secs(20);
        window.pass_at("ann", two, now).unwrap();
        window.pass_at("ann", two, later).unwrap();
        assert_eq!(window.pass_at("ann", two, later), Err(Duration::from_secs(40)));
        window.pass_at("bob", two, later).unwrap();
        window.pass_at("ann", two, now + Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn memory_is_bounded() {
        let window = Window::new(Duration::from_secs(60));
        for key in 0..3 * MOST {
            window.pass(key, NonZeroUsize::MIN).unwrap();
        }
        assert!(window.counts.lock().len() <= MOST);
    }
}
