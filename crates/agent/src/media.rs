//! Whether the medium that the host runs from is still there (agent-protocol §1.11).
//!
//! A virtual CD that the management controller lost leaves a host that half works. Only a full ISO is mounted, so its
//! absence says nothing.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::task::blocking;

/// Exit code by which the service knows a lost medium.
pub(crate) const LOST: i64 = 256;

const MOUNT_POINT: &str = "/run/media/iso";

/// How long a medium may take to show its first bytes.
const LIMIT: Duration = Duration::from_secs(60);

/// The discovery medium of this host, and where it is looked for.
#[derive(Clone, Debug)]
pub struct Media {
    root: PathBuf,
    limit: Duration,
    /// Held while the medium is being read: reads that hang must not pile up with each step.
    reading: Arc<Mutex<()>>,
}

impl Default for Media {
    fn default() -> Self {
        Self::below("/")
    }
}

impl Media {
    /// Looks below another directory than `/`.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), limit: LIMIT, reading: Arc::default() }
    }

    /// Why the medium can't be read; `None` when it can, or when there is none to read.
    pub(crate) async fn read_error(&self) -> Option<String> {
        // Reading from a dead medium can block for long, or for ever.
        let checked = timeout(self.limit, async {
            let held = Arc::clone(&self.reading).lock_owned().await;
            let media = self.clone();
            blocking(move || {
                let _held = held;
                media.check()
            })
            .await
        });
        checked.await.unwrap_or_else(|_| {
            Some(unreadable("read from", &format!("no answer within {} seconds", self.limit.as_secs())))
        })
    }

    fn check(&self) -> Option<String> {
        if !self.path(MOUNT_POINT).exists() {
            return None;
        }
        let mounts = File::open(self.path("/proc/1/mountinfo"));
        let mut text = String::new();
        mounts.ok()?.take(16 << 20).read_to_string(&mut text).ok()?;
        let source = source_of(&text)?;
        let mut device = match File::open(self.path(&source)) {
            Ok(device) => device,
            Err(error) => return Some(unreadable("access", &error)),
        };
        match device.read_exact(&mut [0; 2]) {
            Ok(()) => None,
            Err(error) => Some(unreadable("read from", &error)),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path).strip_prefix("/").unwrap_or(Path::new(path)))
    }
}

fn unreadable(what: &str, why: &dyn fmt::Display) -> String {
    format!("cannot {what} the media (ISO) - media was likely disconnected: {why}")
}

/// The device mounted last at the mount point.
fn source_of(mountinfo: &str) -> Option<String> {
    let device = |line: &str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let source = file_system.split(' ').nth(1)?;
        (mount.split(' ').nth(4)? == MOUNT_POINT && source.starts_with("/dev")).then(|| source.to_owned())
    };
    mountinfo.lines().rev().find_map(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 0:20 / / rw shared:1 - overlay overlay rw\n\
        80 22 11:0 / /run/media/iso ro,relatime shared:9 - iso9660 /dev/sr0 ro\n";

    fn root() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for path in ["run/media/iso", "proc/1", "dev"] {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        std::fs::write(dir.path().join("proc/1/mountinfo"), MOUNTS).unwrap();
        dir
    }

    #[tokio::test]
    async fn a_lost_medium_is_told() {
        let dir = root();
        let media = Media::below(dir.path());
        assert!(
            media.read_error().await.unwrap().starts_with("cannot access the media (ISO) - media was likely")
        );
        std::fs::write(dir.path().join("dev/sr0"), "").unwrap();
        assert!(
            media
                .read_error()
                .await
                .unwrap()
                .starts_with("cannot read from the media (ISO) - media was likely")
        );
        std::fs::write(dir.path().join("dev/sr0"), "data").unwrap();
        assert_eq!(media.read_error().await, None);
    }

    #[tokio::test]
    async fn a_medium_that_hangs_is_lost_and_is_not_asked_twice() {
        let dir = root();
        let device = dir.path().join("dev/sr0");
        // Opening it waits for a writer that doesn't come yet.
        rustix::fs::mknodat(rustix::fs::CWD, &device, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let media = Media { limit: Duration::from_millis(50), ..Media::below(dir.path()) };
        for _ in 0..3 {
            assert!(media.read_error().await.unwrap().contains("cannot read from the media (ISO)"));
        }
        assert!(media.reading.try_lock().is_err(), "one read hangs");
        std::fs::write(&device, "data").unwrap();
        let media = Media { limit: LIMIT, ..media };
        drop(media.reading.lock().await);
        std::fs::remove_file(&device).unwrap();
        std::fs::write(&device, "data").unwrap();
        assert_eq!(media.read_error().await, None);
    }

    #[tokio::test]
    async fn what_is_unknown_is_no_fault() {
        let dir = root();
        std::fs::write(dir.path().join("proc/1/mountinfo"), MOUNTS.replace("/dev/sr0", "tmpfs")).unwrap();
        assert_eq!(Media::below(dir.path()).read_error().await, None);
        let nowhere = tempfile::tempdir().unwrap();
        assert_eq!(Media::below(nowhere.path()).read_error().await, None);
    }
}
