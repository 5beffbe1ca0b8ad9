//! Whether the medium that the host runs from is still there (agent-protocol §1.11).
//!
//! A virtual CD that the management controller lost leaves a host that half works. Only a full ISO is mounted, so its
//! absence says nothing.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Exit code by which the service knows a lost medium.
pub(crate) const LOST: i64 = 256;

const MOUNT_POINT: &str = "/run/media/iso";

/// Where the medium is looked for.
#[derive(Clone, Debug)]
pub struct Media {
    root: PathBuf,
}

impl Default for Media {
    fn default() -> Self {
        Self::below("/")
    }
}

impl Media {
    /// Looks below another directory than `/`.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Why the medium can't be read; `None` when it can, or when there is none to read.
    pub(crate) async fn fault(&self) -> Option<String> {
        let media = self.clone();
        // Reading from a dead medium can block for long.
        tokio::task::spawn_blocking(move || media.check()).await.unwrap_or_default()
    }

    fn check(&self) -> Option<String> {
        if !self.path(MOUNT_POINT).exists() {
            return None;
        }
        let mounts = File::open(self.path("/proc/1/mountinfo"));
        let mut text = String::new();
        mounts.ok()?.take(16 << 20).read_to_string(&mut text).ok()?;
        let source = source_of(&text)?;
        let fault = |what: &str, error: std::io::Error| {
            Some(format!("cannot {what} the media (ISO) - media was likely disconnected: {error}"))
        };
        let mut device = match File::open(self.path(&source)) {
            Ok(device) => device,
            Err(error) => return fault("access", error),
        };
        match device.read_exact(&mut [0; 2]) {
            Ok(()) => None,
            Err(error) => fault("read from", error),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path).strip_prefix("/").unwrap_or(Path::new(path)))
    }
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
        assert!(media.fault().await.unwrap().starts_with("cannot access the media (ISO) - media was likely"));
        std::fs::write(dir.path().join("dev/sr0"), "").unwrap();
        assert!(
            media.fault().await.unwrap().starts_with("cannot read from the media (ISO) - media was likely")
        );
        std::fs::write(dir.path().join("dev/sr0"), "data").unwrap();
        assert_eq!(media.fault().await, None);
    }

    #[tokio::test]
    async fn what_is_unknown_is_no_fault() {
        let dir = root();
        std::fs::write(dir.path().join("proc/1/mountinfo"), MOUNTS.replace("/dev/sr0", "tmpfs")).unwrap();
        assert_eq!(Media::below(dir.path()).fault().await, None);
        let nowhere = tempfile::tempdir().unwrap();
        assert_eq!(Media::below(nowhere.path()).fault().await, None);
    }
}
