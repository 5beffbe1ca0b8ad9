//! Writing the image onto the disk, by `coreos-installer` (installer-and-controller §A10). Told no source it takes the image
//! out of the live medium that the host was booted from: nothing is downloaded.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;

use super::progress::{Percent, Progress};
use crate::host::{Host, RunError, WRITER, finish};

/// A slow disk on a slow network still takes less.
const LIMIT: Duration = Duration::from_secs(3 * 3_600);

/// Writes the image onto `device` so that the system applies `ignition` when it first boots; `args` go to the tool as
/// they are. How far it is goes to `reports`; a receiver that is gone is no reason to stop. `dry` runs what only pretends.
///
/// # Errors
/// When the tool can't be run, or fails. It leaves an empty partition table then, so that it can be run again.
pub async fn write(
    device: &Path,
    ignition: &str,
    args: &[String],
    dry: bool,
    host: &Host,
    reports: &mpsc::UnboundedSender<Percent>,
) -> Result<(), RunError> {
    let tool = if dry { "dry-installer" } else { WRITER };
    let fixed = ["install", "--insecure", "-i", ignition].map(OsStr::new);
    let all: Vec<_> =
        fixed.into_iter().chain(args.iter().map(OsStr::new)).chain([device.as_os_str()]).collect();
    let cmd = host.cmd(LIMIT, tool, &all).cut_output();
    let what = cmd.command_line();
    let mut progress = Progress::default();
    let done = cmd
        .run_watched(|piece| {
            for percent in progress.read(piece) {
                let _ = reports.send(percent);
            }
        })
        .await;
    finish(&what, done).map(drop)
}

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    fn tool(dir: &Path, script: &str) -> Host {
        let text = format!("for arg; do echo \"$arg\" >> {}/asked; done\n{script}", dir.display());
        crate::script::script(&dir.join("coreos-installer"), &text);
        Host::at(dir, Tools::at(dir))
    }

    async fn written(script: &str, dir: &Path) -> (Result<(), RunError>, Vec<u8>) {
        let (progress, mut seen) = mpsc::unbounded_channel();
        let args = ["--append-karg".to_owned(), "$(reboot)".to_owned()];
        let host = tool(dir, script);
        let done = write(Path::new("/dev/vda"), "/opt/a b.ign", &args, false, &host, &progress).await;
        drop(progress);
        let mut all = Vec::new();
        while let Some(percent) = seen.recv().await {
            all.push(percent.0);
        }
        (done, all)
    }

    #[tokio::test]
    async fn the_tool_gets_its_arguments_and_tells_how_far_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let script = r"printf 'Read disk 1 MiB/8 MiB (12%%)\n> Read disk 4 MiB/8 MiB (50%%)   \rRead disk (100%%)\n' >&2";
        let (done, progress) = written(script, dir.path()).await;
        done.unwrap();
        assert_eq!(progress, [12, 50, 100]);
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(asked, "install\n--insecure\n-i\n/opt/a b.ign\n--append-karg\n$(reboot)\n/dev/vda\n");
    }

    #[tokio::test]
    async fn a_failure_is_told_with_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let script = "yes '(1%)' | head -n 5000 >&2; echo 'Error: found busy partitions' >&2; exit 1";
        let (done, _) = written(script, dir.path()).await;
        let error = done.unwrap_err().to_string();
        let begin =
            "[install --insecure -i /opt/a b.ign --append-karg $(reboot) /dev/vda], Error exit status 1";
        assert!(error.contains(begin) && error.ends_with("Error: found busy partitions\""), "{error}");
        std::fs::remove_file(dir.path().join("coreos-installer")).unwrap();
        let (progress, _seen) = mpsc::unbounded_channel();
        let host = Host::at(dir.path(), Tools::at(dir.path()));
        let gone = write(Path::new("/dev/vda"), "/x", &[], false, &host, &progress).await;
        assert!(gone.unwrap_err().cause.contains("can't be started"));
    }
}
