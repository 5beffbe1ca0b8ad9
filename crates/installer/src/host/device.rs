//! Devices: behind links, and no longer mounted by an attempt that ended in the middle.

use std::path::{Component, Path, PathBuf};

use tracing::{info, warn};

use super::Host;

/// Links to links are few.
const MOST_LINKS: usize = 8;
/// Where partitions of the disk are mounted for a while; the inner ones first.
const MOUNT_POINTS: [&str; 3] = ["/mnt/boot", "/mnt/root", "/mnt"];

impl Host {
    /// The device that links such as `/dev/disk/by-id/…` lead to, as the machine names it; a path that leads nowhere
    /// stays.
    pub fn resolve(&self, device: &Path) -> PathBuf {
        let mut path = device.to_owned();
        for _ in 0..MOST_LINKS {
            let Ok(target) = std::fs::read_link(self.path(&path)) else { return path };
            path = flat(&path.parent().unwrap_or(Path::new("/")).join(target));
        }
        warn!(device = %device.display(), "too many links");
        device.to_owned()
    }

    /// Unmounts what an attempt that was killed has left mounted: a disk with mounted partitions can't be written.
    pub async fn unmount_leftovers(&self) {
        let Ok(table) = self.read("/proc/1/mountinfo") else { return };
        let table = String::from_utf8_lossy(&table).into_owned();
        for point in MOUNT_POINTS {
            if table.lines().any(|line| line.split(' ').nth(4) == Some(point)) {
                info!(point, "unmounting what an earlier attempt left");
                if let Err(error) = self.run("umount", &[point]).await {
                    warn!(%error, "can't unmount");
                }
            }
        }
    }
}

/// A path without `..`, by its text alone.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                flat.pop();
            }
            part => flat.push(part),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use assisted_base::process::Tools;

    use super::*;

    #[test]
    fn links_lead_to_devices() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Tools::default());
        let by_id = dir.path().join("dev/disk/by-id");
        std::fs::create_dir_all(&by_id).unwrap();
        symlink("../../sda", by_id.join("wwn-1")).unwrap();
        symlink("/dev/disk/by-id/wwn-1", by_id.join("again")).unwrap();
        symlink("loop", by_id.join("loop")).unwrap();
        let resolved = |name: &str| host.resolve(&Path::new("/dev/disk/by-id").join(name));
        assert_eq!(resolved("wwn-1"), Path::new("/dev/sda"));
        assert_eq!(resolved("again"), Path::new("/dev/sda"));
        assert_eq!(resolved("loop"), Path::new("/dev/disk/by-id/loop"));
        assert_eq!(host.resolve(Path::new("/dev/sdb")), Path::new("/dev/sdb"));
    }
}
