//! The release's own system in place of the one of the image, before the machine first starts: it saves a restart
//! (installer-and-controller §A12). Whatever goes wrong here costs that restart and nothing else.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use tracing::warn;

use super::existing_root::appended;
use super::partition::{BOOT, PartitionError, Partitions, ROOT};
use crate::attempts::{Exhausted, attempts};
use crate::config::Intervals;
use crate::host::{Host, RunError};

/// A system's image is pulled and unpacked.
const DEPLOY: Duration = Duration::from_secs(2 * 3_600);
const STEP: Duration = Duration::from_secs(10 * 60);
const ATTEMPTS: u32 = 3;
const PAUSE: u64 = 5;
const PLATFORM: &str = "ignition.platform.id=";
const DEFAULT_PLATFORM: &str = "ignition.platform.id=metal";

/// The system that a release wants on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsImage {
    /// Reference of its image.
    pub url: String,
    pub kernel_arguments: Vec<String>,
}

/// Why the system stays that of the image.
#[derive(Debug, thiserror::Error)]
pub enum OverwriteError {
    #[error(transparent)]
    Partition(#[from] PartitionError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Exhausted(#[from] Exhausted<RunError>),
    #[error("device {0} does not have 4 partitions")]
    Layout(String),
}

/// Puts `image`, which the credentials in `auth_file` open, onto a disk that was just written with `args`.
///
/// # Errors
/// When a program fails; nothing stays mounted.
pub async fn overwrite(
    device: &Path,
    image: &OsImage,
    args: &[String],
    auth_file: &str,
    host: &Host,
    intervals: Intervals,
) -> Result<(), OverwriteError> {
    let disk = Partitions::of(device, host).await?;
    let layout = |_| OverwriteError::Layout(device.display().to_string());
    let free = disk.free_percent(disk.size(ROOT).map_err(layout)?);
    if host.run("uname", &["-m"]).await? == "s390x" {
        return Ok(());
    }
    let work = Overwriting { host, intervals, auth_file };
    let (root, boot) = (disk.path(ROOT)?, disk.path(BOOT)?);
    let done = work.put(device, &root, &boot, free, image, args).await;
    if done.is_err() {
        for point in ["/mnt/boot", "/mnt"] {
            if let Err(error) = host.run("umount", &[point]).await {
                warn!(%error, "stays mounted");
            }
        }
    }
    done
}

struct Overwriting<'a> {
    host: &'a Host,
    intervals: Intervals,
    auth_file: &'a str,
}

impl Overwriting<'_> {
    async fn put(
        &self,
        device: &Path,
        root: &Path,
        boot: &Path,
        free: u64,
        image: &OsImage,
        args: &[String],
    ) -> Result<(), OverwriteError> {
        self.run(STEP, "mount", &[root.as_os_str(), "/mnt".as_ref()]).await?;
        self.run(STEP, "mount", &[boot.as_os_str(), "/mnt/boot".as_ref()]).await?;
        self.run(STEP, "growpart", &grow(device, free).iter().map(String::as_str).collect::<Vec<_>>())
            .await?;
        self.run(STEP, "xfs_growfs", &["/mnt"]).await?;
        self.run(STEP, "setenforce", &["0"]).await?;
        let reference = format!("ostree-unverified-registry:{}", image.url);
        let platform = self.platform();
        let mut deploy = vec!["container", "image", "deploy", "--sysroot", "/mnt"];
        deploy.extend(["--authfile", self.auth_file, "--imgref", &reference]);
        deploy.extend(["--karg", &platform, "--karg", "$ignition_firstboot", "--stateroot", "rhcos"]);
        let more = appended(args);
        for karg in more.iter().chain(&image.kernel_arguments) {
            deploy.extend(["--karg", karg]);
        }
        self.run(DEPLOY, "ostree", &deploy).await?;
        for point in ["/mnt/boot", "/mnt"] {
            self.run(STEP, "fsfreeze", &["--freeze", point]).await?;
            self.run(STEP, "umount", &[point]).await?;
        }
        Ok(())
    }

    async fn run<A: AsRef<OsStr>>(
        &self,
        limit: Duration,
        program: &str,
        args: &[A],
    ) -> Result<(), Exhausted<RunError>> {
        let run = async || self.host.run_for(limit, program, args).await;
        attempts(ATTEMPTS, PAUSE, self.intervals, run).await.map(drop)
    }

    /// What the machine's firmware and hypervisor are called: as the running system was told.
    fn platform(&self) -> String {
        let line = self.host.read("/proc/cmdline").unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.split_whitespace().find(|word| word.starts_with(PLATFORM)).unwrap_or(DEFAULT_PLATFORM).to_owned()
    }
}

/// Arguments to let the root partition grow into what is free, but for so many percent of the disk.
pub(super) fn grow(device: &Path, free: u64) -> Vec<String> {
    let keep = (free > 0).then(|| format!("--free-percent={free}"));
    keep.into_iter().chain([device.display().to_string(), ROOT.to_string()]).collect()
}
