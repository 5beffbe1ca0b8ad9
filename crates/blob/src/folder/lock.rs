//! The lock of a directory: whoever puts or deletes a file shares it; whoever seals files anew has it alone for the moment in which
//! one is replaced, so that nothing is undone that another thread or process does meanwhile.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::key::UNFINISHED;

/// The file that is locked, among the unfinished ones.
pub(super) const FILE: &str = "lock";

/// Time to wait for others, each of whom holds it only for as long as a rename takes.
const LIMIT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

/// A lock that is held; it is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// With others who put and delete files.
    pub(super) fn shared(root: &Path) -> io::Result<Self> {
        take(root, File::try_lock_shared)
    }

    /// Alone.
    pub(super) fn exclusive(root: &Path) -> io::Result<Self> {
        take(root, File::try_lock)
    }
}

/// Makes the file, so that a full disk lets files be deleted.
pub(super) fn create(root: &Path) -> io::Result<File> {
    let path = root.join(UNFINISHED).join(FILE);
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn take(root: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> io::Result<Lock> {
    let (file, begin) = (create(root)?, Instant::now());
    loop {
        match lock(&file) {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) if begin.elapsed() < LIMIT => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
