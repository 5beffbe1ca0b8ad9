//! The registry of an appliance without a connection, copied from its medium onto the disk (installer-and-controller §A13).

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::os_image::grow;
use super::partition::{PartitionError, Partitions, ROOT};
use super::progress::{Percent, STEP};
use crate::attempts::{Exhausted, attempts};
use crate::config::Intervals;
use crate::host::{FileError, Host, INSTALL_DIR, RunError};

/// Where such a medium has its registry.
pub const REGISTRY: &str = "/run/media/iso/registry";
const DATA: &str = "/mnt/agentdata";
const TARGET: &str = "/mnt/root/ostree/deploy/rhcos/var/lib/iri-registry";
/// Takes the root file system off its partition and back onto a larger one.
const TRANSPOSE: &str = "/usr/lib/dracut/modules.d/40ignition-ostree/ignition-ostree-transposefs.sh";
const LIMIT: Duration = Duration::from_secs(6 * 3_600);
const ATTEMPTS: u32 = 3;
const PAUSE: u64 = 5;
/// A line for each percent and file, in bytes.
const LONGEST_OUTPUT: usize = 64 << 20;
/// What `growpart` says when there is nothing to do, with exit status 1.
const NO_CHANGE: &str = "NOCHANGE";

/// Why the registry isn't copied.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error(transparent)]
    Partition(#[from] PartitionError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Exhausted(#[from] Exhausted<RunError>),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("can't tell how much registry data there is: {0:?}")]
    Size(String),
    #[error("device {device} is not large enough to fit the registry data ({needed} bytes)")]
    TooSmall { device: String, needed: u64 },
}

/// Copies the registry's data onto the disk's root partition, which grows for it. How far it is goes to `progress`.
///
/// # Errors
/// When the disk is too small or a program fails. The image must be written anew then.
pub async fn copy_registry(
    device: &Path,
    host: &Host,
    intervals: Intervals,
    progress: &mpsc::UnboundedSender<Percent>,
) -> Result<(), RegistryError> {
    let size = host.run_for(LIMIT, "du", &["-sb", DATA]).await?;
    let bytes = size.split_whitespace().next().and_then(|text| text.parse::<u64>().ok());
    let bytes = bytes.ok_or_else(|| RegistryError::Size(size.chars().take(80).collect()))?;
    // Room for what the cluster adds to it.
    let needed = bytes.saturating_mul(5) / 2;
    let disk = Partitions::of(device, host).await?;
    let free = disk.free_percent(needed);
    if free < 1 {
        return Err(RegistryError::TooSmall { device: device.display().to_string(), needed });
    }
    let root = disk.path(ROOT)?;
    let work = Copying { host, intervals };
    let mount = [root.as_os_str(), "/mnt/root".as_ref()];
    work.run("mkdir", &["-p", "/mnt/root"]).await?;
    work.run("mount", &mount).await?;
    // Whoever replaced the system has left it frozen; that it isn't is no fault.
    let _ = host.run("fsfreeze", &["--unfreeze", "/mnt/root"]).await;
    work.run("umount", &["/mnt/root"]).await?;
    work.grow(device, free).await?;
    let script = work.transpose()?;
    for step in ["autosave-xfs", "restore", "cleanup"] {
        work.run(&script, &[step]).await?;
    }
    work.run("mount", &mount).await?;
    work.run("xfs_growfs", &["/mnt/root"]).await?;
    work.run("mkdir", &["-p", TARGET]).await?;
    attempts(ATTEMPTS, PAUSE, intervals, async || work.copy(progress).await).await?;
    work.run("fsfreeze", &["--freeze", "/mnt/root"]).await?;
    work.run("umount", &["/mnt/root"]).await?;
    Ok(())
}

struct Copying<'a> {
    host: &'a Host,
    intervals: Intervals,
}

impl Copying<'_> {
    async fn run<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) -> Result<(), Exhausted<RunError>> {
        let run = async || self.host.run_for(LIMIT, program, args).await;
        attempts(ATTEMPTS, PAUSE, self.intervals, run).await.map(drop)
    }

    async fn grow(&self, device: &Path, free: u64) -> Result<(), Exhausted<RunError>> {
        let args = grow(device, free);
        let run = async || match self.host.run_for(LIMIT, "growpart", &args).await {
            Err(error) if error.output.contains(NO_CHANGE) => Ok(()),
            done => done.map(drop),
        };
        attempts(ATTEMPTS, PAUSE, self.intervals, run).await
    }

    /// The system's own script with a threshold of nothing, so that it always takes the file system off.
    fn transpose(&self) -> Result<String, FileError> {
        let script = self.host.read(TRANSPOSE)?;
        let script = without_threshold(&String::from_utf8_lossy(&script));
        let path = format!("{INSTALL_DIR}/transposefs.sh");
        self.host.write(&path, 0o700, script)?;
        Ok(path)
    }

    async fn copy(&self, progress: &mpsc::UnboundedSender<Percent>) -> Result<(), RunError> {
        let from = format!("{DATA}/");
        let cmd = self.host.cmd(LIMIT, "rsync", &["-ah", "--info=progress2", &from, &format!("{TARGET}/")]);
        let what = cmd.command_line();
        let (mut output, mut seen) = tokio::io::duplex(16 << 10);
        let run = async {
            let done = cmd.cut_output().output_limit(LONGEST_OUTPUT).run_into(&mut output).await;
            drop(output);
            done
        };
        let watch = async {
            let (mut piece, mut line, mut last) = (vec![0; 4 << 10], Vec::new(), 0);
            while let Ok(length @ 1..) = seen.read(&mut piece).await {
                for byte in &piece[..length] {
                    if !matches!(byte, b'\r' | b'\n') {
                        line.push(*byte);
                        continue;
                    }
                    if let Some(percent) =
                        percent(&line).filter(|now| *now >= last + STEP || *now == 100 && last != 100)
                    {
                        last = percent;
                        let _ = progress.send(Percent(percent));
                    }
                    line.clear();
                }
                line.truncate(1 << 10);
            }
        };
        let (done, ()) = tokio::join!(run, watch);
        crate::host::finish(&what, done).map(drop)
    }
}

/// The percentage in `  1.23G  45%   12.34MB/s    0:01:23 (xfr#1, to-chk=2/4)`.
fn percent(line: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_whitespace();
    words.next()?;
    let found = words.next()?.strip_suffix('%')?.parse().ok()?;
    words.next()?;
    (found <= 100).then_some(found)
}

/// Every `threshold=` of a number becomes `threshold=0`.
fn without_threshold(script: &str) -> String {
    const NAME: &str = "threshold=";
    let mut parts = script.split(NAME);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text.push_str(NAME);
        if rest.len() < part.len() {
            text.push('0');
        }
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_the_copy_is() {
        for (line, found) in [
            ("  1,238,099 100%  146.38kB/s    0:00:08  (xfr#5, to-chk=169/396)", Some(100)),
            ("1.23G  45%   12.34MB/s    0:01:23", Some(45)),
            ("1.23G  45%", None),
            ("sending incremental file list", None),
            ("1.23G  145% 1MB/s", None),
            ("", None),
        ] {
            assert_eq!(percent(line.as_bytes()), found, "{line}");
        }
    }

    #[test]
    fn the_threshold_is_nothing() {
        assert_eq!(
            without_threshold("a threshold=300 b\nthreshold=x threshold=\n"),
            "a threshold=0 b\nthreshold=x threshold=\n"
        );
    }
}
