//! One service on a data folder with an embedded database: a second one would take the work of the first for its own.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

const FILE: &str = "lock";

/// How long one that is about to end is waited for.
const WAIT: Duration = Duration::from_secs(5);

/// Holds a folder as long as the file that it returns is open; the system gives it back when the process ends, however it does.
pub(crate) fn hold(data_dir: &Path) -> Result<File> {
    let path = data_dir.join(FILE);
    let context = || format!("the lock {} can't be held", path.display());
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .with_context(context)?;
    let until = Instant::now() + WAIT;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => sleep(Duration::from_millis(50)),
            Err(Errno::WOULDBLOCK) => bail!(
                "another service is at work on the data folder {}: stop it, choose another folder with --data-dir, or let \
                 several share a PostgreSQL",
                data_dir.display()
            ),
            Err(error) => return Err(error).with_context(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_held_once() {
        let dir = tempfile::tempdir().unwrap();
        let first = hold(dir.path()).unwrap();
        let refused = hold(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("another service is at work"), "{refused}");
        drop(first);
        hold(dir.path()).unwrap();
    }
}
