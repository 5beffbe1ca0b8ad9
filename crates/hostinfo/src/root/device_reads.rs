//! Reads of devices that may never come back.
//!
//! Reading from a disk that died, or from a multipath device without paths, can wait in the kernel for ever, and
//! nothing interrupts it. So such reads run on threads of their own, which are left behind when their time is up; a
//! device whose read is still out isn't asked again, so that no more than one thread per device is ever lost.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Reads at once. Sleeping disks spin up side by side; thousands of disks don't make thousands of threads.
const AT_ONCE: usize = 16;
const STACK: usize = 128 << 10;

/// The reads that haven't come back.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceReads(Arc<Mutex<HashSet<String>>>);

impl DeviceReads {
    /// What `read` finds at each path; `None` where it isn't back after `limit`, or still out from an earlier call.
    pub(super) fn read<T, F>(&self, paths: &[String], limit: Duration, read: F) -> HashMap<String, Option<T>>
    where
        T: Send + 'static,
        F: Fn(&str) -> T + Clone + Send + 'static,
    {
        let mut found = HashMap::new();
        for paths in paths.chunks(AT_ONCE) {
            let (sender, answers) = mpsc::channel();
            for path in paths {
                found.insert(path.clone(), None);
                if self.pending().insert(path.clone()) {
                    self.begin(path.clone(), sender.clone(), read.clone());
                }
            }
            // The threads hold the other senders: without any of them nothing is to be waited for.
            drop(sender);
            let end = Instant::now() + limit;
            while let Ok((path, answer)) = answers.recv_timeout(end.saturating_duration_since(Instant::now()))
            {
                found.insert(path, Some(answer));
            }
        }
        found
    }

    fn begin<T, F>(&self, path: String, sender: mpsc::Sender<(String, T)>, read: F)
    where
        T: Send + 'static,
        F: Fn(&str) -> T + Send + 'static,
    {
        let (device_reads, asked) = (self.clone(), path.clone());
        let work = move || {
            let answer = read(&path);
            device_reads.pending().remove(&path);
            // Nobody listens any more when this took too long.
            let _ = sender.send((path, answer));
        };
        if let Err(error) = thread::Builder::new().stack_size(STACK).spawn(work) {
            tracing::warn!(path = asked, %error, "no thread to read with");
            self.pending().remove(&asked);
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn each_answer_finds_its_path() {
        let paths: Vec<_> = (0..100).map(|number| format!("/dev/sd{number}")).collect();
        let found = DeviceReads::default().read(&paths, LONG, str::len);
        assert_eq!(found.len(), 100);
        assert!(found.iter().all(|(path, answer)| *answer == Some(path.len())));
    }

    #[test]
    fn what_hangs_is_left_behind_and_asked_again_only_when_it_came_back() {
        let device_reads = DeviceReads::default();
        let (release, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let read = move |path: &str| {
            if path == "dead" {
                let _ = gate.lock().unwrap().recv();
            }
            path.len()
        };
        let (dead, good) = ("dead".to_owned(), "good".to_owned());
        let found = device_reads.read(std::slice::from_ref(&dead), Duration::from_millis(20), read.clone());
        assert_eq!(found[&dead], None);
        let found = device_reads.read(&[dead.clone(), good.clone()], LONG, read.clone());
        assert_eq!((found[&dead], found[&good]), (None, Some(4)));
        drop(release);
        while !device_reads.pending().is_empty() {
            thread::yield_now();
        }
        let found = device_reads.read(std::slice::from_ref(&dead), LONG, read);
        assert_eq!(found[&dead], Some(4));
    }
}
