//! How often a log-in may fail, before who tries has to wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::digest;

/// How long a failure counts.
const WINDOW: SignedDuration = SignedDuration::from_mins(15);

/// Failures from one address for one name, from one address, and for one name from everywhere. The last is generous: nobody
/// must be able to lock others out with a few requests.
const MOST: [u32; 3] = [5, 20, 200];

/// Keys that are remembered; past it those whose time is over are forgotten, and if that is not enough, those with the fewest failures:
/// somebody who fails under many names, or from many addresses, does not have the failures for one name forgotten.
const MOST_KEYS: usize = 10_000;

/// The digest of a name: names that nobody has may be long.
type NameDigest = [u8; 32];

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    NameAt(NameDigest, IpAddr),
    At(IpAddr),
    Name(NameDigest),
}

/// Failed log-ins of this process. Replicas count on their own.
#[derive(Default)]
pub struct FailedLogins(Mutex<HashMap<Key, (u32, Timestamp)>>);

impl FailedLogins {
    /// How long somebody has to wait before the next try; `None`: not at all.
    pub fn wait(&self, name: &str, peer: IpAddr, now: Timestamp) -> Option<Duration> {
        let failures = self.0.lock();
        let until = |(key, most): (Key, u32)| {
            let (count, until) = failures.get(&key)?;
            (*count >= most && *until > now).then_some(*until)
        };
        let until = keys(name, peer).into_iter().zip(MOST).filter_map(until).max()?;
        Duration::try_from(until.duration_since(now)).ok()
    }

    /// Counts a failure.
    pub fn record(&self, name: &str, peer: IpAddr, now: Timestamp) {
        let mut failures = self.0.lock();
        if failures.len() >= MOST_KEYS {
            failures.retain(|_, (_, until)| *until > now);
            if failures.len() >= MOST_KEYS {
                forget_half(&mut failures);
            }
        }
        let until = now.checked_add(WINDOW).unwrap_or(Timestamp::MAX);
        for key in keys(name, peer) {
            let entry = failures.entry(key).or_insert((0, until));
            if entry.1 <= now {
                *entry = (0, until);
            }
            entry.0 = entry.0.saturating_add(1);
        }
    }

    /// Takes back the last failure that was noted, for somebody who got in after all, and forgets those for that name there.
    pub fn forgive(&self, name: &str, peer: IpAddr) {
        let mut failures = self.0.lock();
        let keys = keys(name, peer);
        for key in &keys {
            if let Some((count, _)) = failures.get_mut(key) {
                *count = count.saturating_sub(1);
            }
        }
        failures.remove(&keys[0]);
    }
}

/// Forgets at least half of all, those with the fewest failures.
fn forget_half(failures: &mut HashMap<Key, (u32, Timestamp)>) {
    let mut counts: Vec<u32> = failures.values().map(|(count, _)| *count).collect();
    let middle = counts.len() / 2;
    let (_, median, _) = counts.select_nth_unstable(middle);
    failures.retain(|_, (count, _)| *count > *median);
}

/// In the order of [`MOST`].
fn keys(name: &str, peer: IpAddr) -> [Key; 3] {
    let name = digest::of(name);
    [Key::NameAt(name, peer), Key::At(peer), Key::Name(name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn who_fails_too_often_waits() {
        let (failed, now) = (FailedLogins::default(), Timestamp::UNIX_EPOCH);
        for _ in 0..4 {
            failed.record("ann", HERE, now);
        }
        assert_eq!(failed.wait("ann", HERE, now), None);
        failed.record("ann", HERE, now);
        assert_eq!(failed.wait("ann", HERE, now), Some(Duration::from_secs(900)));
        // Others from there, and ann from elsewhere, get in.
        assert_eq!(failed.wait("bob", HERE, now), None);
        assert_eq!(failed.wait("ann", THERE, now), None);
        for _ in 0..15 {
            failed.record("bob", HERE, now);
        }
        assert!(failed.wait("eve", HERE, now).is_some() && failed.wait("eve", THERE, now).is_none());
        let later = now + WINDOW;
        assert_eq!(failed.wait("ann", HERE, later), None);
        failed.record("ann", HERE, later);
        assert_eq!(failed.wait("ann", HERE, later), None);
    }

    #[test]
    fn who_gets_in_has_not_failed() {
        let (failed, now) = (FailedLogins::default(), Timestamp::UNIX_EPOCH);
        for _ in 0..1000 {
            failed.record("ann", HERE, now);
            failed.forgive("ann", HERE);
        }
        assert_eq!(failed.wait("ann", HERE, now), None);
    }

    #[test]
    fn who_fails_from_everywhere_has_nothing_forgotten() {
        let (failed, now) = (FailedLogins::default(), Timestamp::UNIX_EPOCH);
        let address = |n: u32| IpAddr::V4(std::net::Ipv4Addr::from_bits(n));
        (0..150).for_each(|n| failed.record("ann", address(n), now));
        (0..50_000).for_each(|n| failed.record(&format!("user{n}"), address(1_000 + n), now));
        (150..199).for_each(|n| failed.record("ann", address(n), now));
        assert_eq!(failed.wait("ann", THERE, now), None);
        failed.record("ann", address(199), now);
        assert!(failed.wait("ann", THERE, now).is_some());
    }

    #[test]
    fn memory_is_bounded() {
        let (failed, now) = (FailedLogins::default(), Timestamp::UNIX_EPOCH);
        for n in 0..20_000 {
            failed.record(&format!("user{n}"), HERE, now);
        }
        assert!(failed.0.lock().len() <= MOST_KEYS + 3);
    }
}
