//! What a machine has of the image that was laid onto its disk: it starts in it as far as a machine without a kernel of its own can. Its
//! programs are this computer's; what the image's `/usr` has beside them is the machine's, read-only, and so is what its `/etc` has.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::system::System;
use super::{NamespaceError, answer};

/// Folders that stand for the disk's partitions, and where each system of the machine has them.
const DISK: &str = "partitions";
const PARTITIONS: &str = "/opt/partitions";
const DEPLOYMENTS: &str = "root/ostree/deploy/rhcos/deploy";
const DATA: &str = "root/ostree/deploy/rhcos/var/lib/ocl-registry";
/// Where the machine reads which image it has started from.
const ORIGIN: &str = "run/ostree-origin";

/// A bind mount: how, from where, to where.
type Bind = (&'static str, PathBuf, PathBuf);

impl System {
    /// The deployment that the boot loader would start, if one was laid over what was written first.
    fn deployment(&self) -> Option<PathBuf> {
        let disk = self.dir.join(DISK);
        let name = std::fs::read_to_string(disk.join("boot/loader/default")).ok()?;
        let deployment = disk.join(DEPLOYMENTS).join(name.trim());
        deployment.is_dir().then_some(deployment)
    }

    /// Lays what the image has below `/etc` into a system that starts for the first time.
    pub(super) fn lay_image(&self, root: &Path) -> Result<(), NamespaceError> {
        let Some(deployment) = self.deployment() else { return Ok(()) };
        let from = format!("{}/.", deployment.join("etc").display());
        let mut copy = Command::new("cp");
        copy.args(["--archive", "--no-clobber", &from]).arg(root.join("etc"));
        answer(&mut copy, "cp --archive")?;
        // Builds leave an empty one behind.
        let name = root.join("etc/hostname");
        match std::fs::metadata(&name) {
            Ok(about) if about.len() == 0 => std::fs::remove_file(&name).map_err(NamespaceError::io(&name)),
            _ => Ok(()),
        }
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
        let Some(deployment) = self.deployment().filter(|_| !is_live) else { return Ok(binds) };
        let origin = deployment.with_extension("0.origin");
        let told = root.join(ORIGIN);
        std::fs::copy(&origin, &told).map_err(NamespaceError::io(&origin))?;
        let data = disk.join(DATA);
        if data.is_dir() {
            binds.push(("--bind", data, PathBuf::from("/var/lib/ocl-registry")));
        }
        let usr = deployment.join("usr");
        for entry in std::fs::read_dir(&usr).map_err(NamespaceError::io(&usr))?.flatten() {
            let place = Path::new("/usr").join(entry.file_name());
            if !place.exists() {
                binds.push(("--ro-bind", entry.path(), place));
            }
        }
        Ok(binds)
    }
}
