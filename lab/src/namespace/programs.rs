//! The programs that a machine has: this computer's, the release's, and those that stand in for CoreOS's.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use assisted_lab_tools::STAND_INS;

use super::NamespaceError;

/// Where each machine has this computer's programs, the lab's, and Kubernetes.
pub(super) const COMPUTER: &str = "/opt/computer";
pub(super) const LAB: &str = "/opt/lab";
pub(super) const KUBERNETES: &str = "/opt/kube";

/// MachinePrograms of the release.
const RELEASE: &[&str] = &["kube-apiserver", "kube-controller-manager", "kubectl"];

/// Scripts: the release's client, and what the images of the controller and of builders are for.
const SCRIPTS: &[(&str, &str)] = &[
    ("oc", "#!/bin/sh\nexec kubectl \"$@\"\n"),
    ("distribution", "#!/bin/sh\nexec docker-registry \"$@\"\n"),
    ("controller", "#!/bin/sh\nexec /opt/lab/assisted controller \"$@\"\n"),
    ("assisted-host", "#!/bin/sh\nexec /opt/lab/assisted-host \"$@\"\n"),
];

/// Folders of programs, for all machines of a lab.
#[derive(Clone, Debug)]
pub struct MachinePrograms {
    /// With `lab-cluster`, `assisted`, and the links that are a machine's `/usr/bin`.
    pub(super) lab: PathBuf,
    pub(super) kubernetes: PathBuf,
    /// That of this computer: it reads what an image carries.
    pub(super) coreos_installer: PathBuf,
}

impl MachinePrograms {
    /// Makes the links in `lab`, a folder that has `lab-cluster` and `assisted`.
    pub fn make(lab: &Path, kubernetes: PathBuf, coreos_installer: PathBuf) -> Result<Self, NamespaceError> {
        let programs = Self { lab: lab.to_owned(), kubernetes, coreos_installer };
        let bin = programs.bin();
        if bin.exists() {
            std::fs::remove_dir_all(&bin).map_err(NamespaceError::io(&bin))?;
        }
        std::fs::create_dir_all(&bin).map_err(NamespaceError::io(&bin))?;
        let link = |name: &str, to: String| {
            let path = bin.join(name);
            symlink(to, &path).map_err(NamespaceError::io(&path))
        };
        for name in STAND_INS {
            link(name, format!("{LAB}/lab-cluster"))?;
        }
        for name in RELEASE {
            link(name, format!("{KUBERNETES}/{name}"))?;
        }
        for (name, text) in SCRIPTS {
            let path = bin.join(name);
            std::fs::write(&path, text).map_err(NamespaceError::io(&path))?;
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).map_err(NamespaceError::io(&path))?;
        }
        let own = Path::new("/usr/bin");
        for entry in std::fs::read_dir(own).map_err(NamespaceError::io(own))?.flatten() {
            if let Ok(name) = entry.file_name().into_string()
                && !bin.join(&name).is_symlink()
                && !bin.join(&name).exists()
            {
                link(&name, format!("{COMPUTER}/{name}"))?;
            }
        }
        Ok(programs)
    }

    pub(super) fn bin(&self) -> PathBuf {
        self.lab.join("bin")
    }
}
