//! The installer program, taken out of a release (install-generation §3.1, §3.4).

pub(crate) mod markers;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use assisted_wire::cluster_params::CpuArchitecture;
use sha2::{Digest as _, Sha256};

use crate::error::{PullError, RegistryError};
use crate::image::{Sink, copy, go_name};
use crate::payload::{Release, component};
use crate::reference::Digest;
use crate::registry::Session;
use markers::Markers;

/// Which program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Runs anywhere.
    OpenshiftInstall,
    /// Needs libraries of its host: for older releases, and on hosts in FIPS mode.
    OpenshiftBaremetalInstall,
}

impl Program {
    /// The program that makes what clusters are installed with: `major` and `minor` are those of the release, `fips` says
    /// whether this host is in FIPS mode.
    pub fn of(major: u64, minor: u64, fips: bool) -> Self {
        if (major, minor) >= (4, 16) && !fips {
            Self::OpenshiftInstall
        } else {
            Self::OpenshiftBaremetalInstall
        }
    }

    /// Name of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenshiftInstall => "openshift-install",
            Self::OpenshiftBaremetalInstall => "openshift-baremetal-install",
        }
    }

    /// The image and the path in it that has the program for a host. A release for another architecture carries it among its
    /// artifacts.
    fn place(self, release: CpuArchitecture, host: CpuArchitecture) -> Option<(&'static str, String)> {
        let own = || "usr/bin/openshift-install".to_owned();
        let native = release == CpuArchitecture::Multi || go_name(release) == go_name(host);
        match self {
            Self::OpenshiftInstall if native => Some((component::INSTALLER, own())),
            Self::OpenshiftInstall => {
                let path = format!("usr/share/openshift/linux_{}/openshift-install", go_name(host));
                Some((component::INSTALLER_ARTIFACTS, path))
            }
            Self::OpenshiftBaremetalInstall if native => Some((component::BAREMETAL_INSTALLER, own())),
            Self::OpenshiftBaremetalInstall => None,
        }
    }
}

/// A program on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Its length, in bytes.
    pub size: u64,
    /// Its digest as it stands on disk.
    pub digest: Digest,
}

/// Takes the installer program for a host out of a release and writes it to `to`: executable, whole on disk, and told which
/// release it is of. It is at most `limit` bytes long. Where it fails, `to` may hold a part.
///
/// # Errors
///
/// See [`RegistryError`]: the image can't be had, has no such program, or `to` can't be written.
pub async fn extract(
    session: &Session,
    release: &Release,
    program: Program,
    host: CpuArchitecture,
    to: &Path,
    limit: u64,
) -> Result<Extracted, PullError> {
    let failed = |error| PullError::new(&release.pinned(), error);
    let (name, path) = program.place(release.architecture, host).ok_or_else(|| {
        failed(RegistryError::NoArchitecture {
            wanted: go_name(host),
            has: go_name(release.architecture).to_owned(),
        })
    })?;
    // Artifacts lie in an image for the release's own architecture.
    let own = if release.architecture == CpuArchitecture::Multi { host } else { release.architecture };
    let image = release.open(session, name, own).await?;
    let markers = Markers {
        image: release.pinned().to_string(),
        version: release.version.clone(),
        architecture: release.architecture.as_str().to_owned(),
    };
    let sink = FileSink { path: to.to_owned(), markers, limit, written: None };
    let sink = image.search(&[path.as_str()], sink).await?;
    sink.written.ok_or_else(|| PullError::new(image.pinned(), RegistryError::NoFile(path)))
}

struct FileSink {
    path: PathBuf,
    markers: Markers,
    limit: u64,
    written: Option<Extracted>,
}

impl Sink for FileSink {
    fn take(&mut self, _: usize, file: &mut dyn Read, modified: u64) -> Result<(), RegistryError> {
        let target = File::create(&self.path).map_err(RegistryError::Disk)?;
        let mut target = BufWriter::with_capacity(1 << 20, target);
        let (mut hash, mut size) = (Sha256::new(), 0);
        let mut filter = self.markers.filter();
        let mut write = |piece: &[u8]| {
            hash.update(piece);
            size += piece.len() as u64;
            target.write_all(piece)
        };
        copy(file, self.limit, |piece| filter.push(piece, &mut write))?;
        filter.finish(&mut write).map_err(RegistryError::Disk)?;
        let finish = || {
            let target = target.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            target.set_permissions(std::fs::Permissions::from_mode(0o755))?;
            target
                .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(modified.min(u32::MAX.into())))?;
            target.sync_all()
        };
        finish().map_err(RegistryError::Disk)?;
        self.written = Some(Extracted { size, digest: Digest::finish(hash) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        assert_eq!(Program::of(4, 16, false), Program::OpenshiftInstall);
        assert_eq!(Program::of(5, 0, false), Program::OpenshiftInstall);
        for (minor, fips) in [(15, false), (16, true)] {
            assert_eq!(Program::of(4, minor, fips), Program::OpenshiftBaremetalInstall);
        }
    }

    #[test]
    fn places() {
        use CpuArchitecture::{Aarch64, Arm64, Multi, S390x, X8664};
        let place = |program: Program, release, host| program.place(release, host);
        let own = |name| Some((name, "usr/bin/openshift-install".to_owned()));
        assert_eq!(place(Program::OpenshiftInstall, X8664, X8664), own("installer"));
        assert_eq!(place(Program::OpenshiftInstall, Multi, Arm64), own("installer"));
        assert_eq!(place(Program::OpenshiftInstall, Arm64, Aarch64), own("installer"));
        assert_eq!(place(Program::OpenshiftBaremetalInstall, X8664, X8664), own("baremetal-installer"));
        assert_eq!(place(Program::OpenshiftBaremetalInstall, S390x, X8664), None);
        let artifacts =
            Some(("installer-artifacts", "usr/share/openshift/linux_amd64/openshift-install".to_owned()));
        assert_eq!(place(Program::OpenshiftInstall, S390x, X8664), artifacts);
    }
}
