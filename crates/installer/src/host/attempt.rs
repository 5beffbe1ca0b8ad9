//! What earlier attempts of the same installation have done, so that one that was killed can be begun again.
//!
//! Nearly everything may be done twice. Two things may not: starting the temporary control plane, and writing a disk that
//! the machine is about to restart from. Those are noted, for as long as the machine isn't restarted.

use std::fs::File;

use assisted_wire::id::{ClusterId, HostId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::{FileError, Host, INSTALL_DIR};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Why an attempt can't begin.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "another installer runs on this host: wait for it, or stop it (systemctl stop assisted-installer, or podman stop assisted-installer)"
    )]
    Running,
}

/// An attempt; while it lives no other can begin.
#[derive(Debug)]
pub struct Attempt {
    _lock: File,
    host: Host,
    /// Where the notes are.
    path: String,
    notes: Notes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Notes {
    /// What the notes are about: another boot, host or cluster has nothing to do with them.
    boot: String,
    cluster: ClusterId,
    host: Option<HostId>,
    control_plane_started: bool,
    restarting: bool,
}

impl Attempt {
    /// Begins.
    ///
    /// # Errors
    /// When another one runs, or the folder for it can't be made.
    pub fn begin(host: &Host, cluster: ClusterId, id: Option<HostId>) -> Result<Self, AttemptError> {
        host.make_dir(INSTALL_DIR)?;
        // Pretended hosts share a machine.
        let name = id.map(|id| id.to_string()).unwrap_or_default();
        let path = format!("{INSTALL_DIR}/attempt-{name}.json");
        let locked = format!("{INSTALL_DIR}/attempt-{name}.lock");
        let open = File::options().create(true).truncate(false).write(true).open(host.path(&locked));
        let lock = open.map_err(FileError::of(&locked))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| AttemptError::Running)?;
        let boot = host.read(BOOT_ID).unwrap_or_default();
        let boot = String::from_utf8_lossy(&boot).trim().to_owned();
        let fresh = Notes { boot, cluster, host: id, ..Notes::default() };
        let known: Option<Notes> = host.read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let notes = known
            .filter(|notes| {
                (&notes.boot, notes.cluster, notes.host) == (&fresh.boot, fresh.cluster, fresh.host)
            })
            .unwrap_or_else(|| fresh.clone());
        if notes != fresh {
            info!(?notes, "an earlier attempt is carried on");
        }
        Ok(Self { _lock: lock, host: host.clone(), path, notes })
    }

    /// Whether the temporary control plane has been started.
    pub fn control_plane_started(&self) -> bool {
        self.notes.control_plane_started
    }

    /// Whether nothing is left to do but to restart.
    pub fn restarting(&self) -> bool {
        self.notes.restarting
    }

    /// Notes that the temporary control plane has been started.
    ///
    /// # Errors
    /// When that can't be written.
    pub fn note_control_plane_started(&mut self) -> Result<(), FileError> {
        self.notes.control_plane_started = true;
        self.save()
    }

    /// Notes that the machine restarts.
    ///
    /// # Errors
    /// When that can't be written.
    pub fn note_restarting(&mut self) -> Result<(), FileError> {
        self.notes.restarting = true;
        self.save()
    }

    fn save(&self) -> Result<(), FileError> {
        let text = serde_json::to_vec(&self.notes).map_err(std::io::Error::from);
        self.host.write(&self.path, 0o600, text.map_err(FileError::of(&self.path))?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn notes_are_of_one_boot_and_one_installation() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Tools::default());
        let (cluster, id) = (ClusterId::random(), Some(HostId::random()));
        host.write(BOOT_ID, 0o644, "first\n").unwrap();
        let mut attempt = Attempt::begin(&host, cluster, id).unwrap();
        assert!(matches!(Attempt::begin(&host, cluster, id), Err(AttemptError::Running)));
        attempt.note_control_plane_started().unwrap();
        let path = attempt.path.clone();
        drop(attempt);
        // A child that another test is starting holds the lock until it has become another program.
        let free = |cluster| {
            let until = Instant::now() + Duration::from_secs(60);
            loop {
                match Attempt::begin(&host, cluster, id) {
                    Err(AttemptError::Running) if Instant::now() < until => std::thread::yield_now(),
                    begun => return begun.unwrap(),
                }
            }
        };
        let again = |cluster| {
            let attempt = free(cluster);
            (attempt.control_plane_started(), attempt.restarting())
        };
        assert_eq!(again(cluster), (true, false));
        assert_eq!(again(ClusterId::random()), (false, false));
        host.write(BOOT_ID, 0o644, "second\n").unwrap();
        assert_eq!(again(cluster), (false, false));
        host.write(&path, 0o644, "{").unwrap();
        assert_eq!(again(cluster), (false, false));
    }
}
