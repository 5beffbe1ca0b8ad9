//! What a machine has of the system on its disk: it starts in an image as far as a machine without a kernel of its own can. Its programs are
//! this computer's; what the image's `/usr` has beside them is the machine's, read-only, and so is what its `/etc` has.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::system::System;
use super::{NamespaceError, answer};

/// Folders that stand for the disk's partitions, and where each system of the machine has them.
const DISK: &str = "partitions";
const PARTITIONS: &str = "/opt/partitions";
const DEPLOYMENTS: &str = "ostree/deploy/rhcos/deploy";
const DATA: &str = "root/ostree/deploy/rhcos/var/lib/ocl-registry";
/// What was written onto the disk first: it starts until something else is laid over it.
const STOCK: &str = "stock.0";
/// Where a system of ostree's tells what it is, and which deployment it has started from.
const BOOTED: &str = "run/ostree-booted";
const COMMAND_LINE: &str = "/proc/cmdline";
const SYSROOT: &str = "/sysroot";
/// The deployment whose `/etc` a system has taken over.
const TAKEN_OVER: &str = "var/lib/lab-deployment";

/// A bind mount: how, from where, to where.
type Bind = (&'static str, PathBuf, PathBuf);

impl System {
    /// The deployment that the boot loader starts, and its folder.
    fn deployment(&self) -> Option<(String, PathBuf)> {
        let disk = self.dir.join(DISK);
        let chosen = std::fs::read_to_string(disk.join("boot/loader/default"));
        let name = chosen.map_or_else(|_| STOCK.to_owned(), |name| name.trim().to_owned());
        let deployment = disk.join("root").join(DEPLOYMENTS).join(&name);
        deployment.is_dir().then_some((name, deployment))
    }

    /// Lays what the image has below `/etc` into a system that starts in it for the first time.
    pub(super) fn lay_image(&self, root: &Path) -> Result<(), NamespaceError> {
        let Some((name, deployment)) = self.deployment() else { return Ok(()) };
        let taken_over = root.join(TAKEN_OVER);
        if std::fs::read_to_string(&taken_over).is_ok_and(|known| known == name) {
            return Ok(());
        }
        let from = format!("{}/.", deployment.join("etc").display());
        let mut copy = Command::new("cp");
        copy.args(["--archive", "--no-clobber", &from]).arg(root.join("etc"));
        answer(&mut copy, "cp --archive")?;
        // Builds leave an empty one behind.
        let hostname = root.join("etc/hostname");
        if std::fs::metadata(&hostname).is_ok_and(|about| about.len() == 0) {
            std::fs::remove_file(&hostname).map_err(NamespaceError::io(&hostname))?;
        }
        std::fs::write(&taken_over, name).map_err(NamespaceError::io(&taken_over))
    }

    /// What a start of the machine sees of its disk.
    pub(super) fn of_image(&self, root: &Path) -> Result<Vec<Bind>, NamespaceError> {
        if !self.spec.image_mode {
            return Ok(Vec::new());
        }
        let disk = self.dir.join(DISK);
        std::fs::create_dir_all(&disk).map_err(NamespaceError::io(&disk))?;
        let mut binds = vec![("--bind", disk.clone(), PathBuf::from(PARTITIONS))];
        let is_live = root == self.root(false);
        let Some((name, deployment)) = self.deployment().filter(|_| !is_live) else { return Ok(binds) };
        let line = self.dir.join("cmdline");
        std::fs::write(&line, format!("ostree=/{DEPLOYMENTS}/{name}\n"))
            .map_err(NamespaceError::io(&line))?;
        let booted = root.join(BOOTED);
        std::fs::write(&booted, "").map_err(NamespaceError::io(&booted))?;
        binds.push(("--ro-bind", line, PathBuf::from(COMMAND_LINE)));
        binds.push(("--bind", disk.join("root"), PathBuf::from(SYSROOT)));
        let data = disk.join(DATA);
        if data.is_dir() {
            binds.push(("--bind", data, PathBuf::from("/var/lib/ocl-registry")));
        }
        let usr = deployment.join("usr");
        if !usr.exists() {
            // What was written first has this computer's programs alone.
            return Ok(binds);
        }
        for entry in std::fs::read_dir(&usr).map_err(NamespaceError::io(&usr))?.flatten() {
            let place = Path::new("/usr").join(entry.file_name());
            if !place.exists() {
                binds.push(("--ro-bind", entry.path(), place));
            }
        }
        Ok(binds)
    }
}
