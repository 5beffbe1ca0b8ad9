//! One builder at a time, and whom to ask to stop. The lock is the process's: it goes with it, however that ends.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Pid;

use super::Machine;
use crate::paths;

/// How often, and after which pauses, a lock is tried that somebody holds.
const LOOKS: u32 = 5;
const MOMENT: Duration = Duration::from_millis(10);

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another builder runs on this machine: wait for it, or end it with `assisted-host ocl stop`")]
    Taken,
    #[error("the lock of the builder: {0}")]
    Io(#[from] std::io::Error),
}

/// Held while a builder works.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

fn open(machine: &Machine) -> std::io::Result<File> {
    std::fs::create_dir_all(machine.path(paths::STATE))?;
    let path = machine.path(format!("{}/lock", paths::STATE));
    File::options().create(true).truncate(false).read(true).write(true).open(path)
}

impl Lock {
    /// Takes the lock, and says who has it.
    pub(crate) fn take(machine: &Machine) -> Result<Self, LockError> {
        let mut file = open(machine)?;
        // Whoever looks for the holder has it for a moment.
        let mut looks = 0;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            looks += 1;
            match error {
                Errno::WOULDBLOCK if looks < LOOKS => std::thread::sleep(MOMENT),
                Errno::WOULDBLOCK => return Err(LockError::Taken),
                other => return Err(LockError::Io(other.into())),
            }
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(std::process::id().to_string().as_bytes())?;
        Ok(Self { _file: file })
    }

    /// The process that holds the lock.
    pub(crate) fn holder(machine: &Machine) -> Result<Option<Pid>, LockError> {
        let file = open(machine)?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return Ok(None);
        }
        let mut text = String::new();
        (&file).take(32).read_to_string(&mut text)?;
        Ok(text.trim().parse().ok().and_then(Pid::from_raw))
    }
}

/// Whether a builder works on this machine right now.
pub fn is_running(machine: &Machine) -> bool {
    matches!(Lock::holder(machine), Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn there_is_one_builder() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        assert!(Lock::holder(&machine).unwrap().is_none() && !is_running(&machine));
        let lock = Lock::take(&machine).unwrap();
        assert!(matches!(Lock::take(&machine), Err(LockError::Taken)));
        let holder = Lock::holder(&machine).unwrap().unwrap();
        assert_eq!(u32::try_from(holder.as_raw_pid()).unwrap(), std::process::id());
        assert!(is_running(&machine));
        drop(lock);
        assert!(!is_running(&machine));
        Lock::take(&machine).unwrap();
    }
}
