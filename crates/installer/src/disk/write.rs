//! Writing the image onto the disk, by `coreos-installer` (installer-and-controller §A10).

use std::path::Path;
use std::time::Duration;

use assisted_agent::{CmdError, Tools};
use tokio::sync::mpsc;

use super::progress::{Percent, Progress};

/// A slow disk on a slow network still takes less.
const LIMIT: Duration = Duration::from_secs(3 * 3_600);

/// Why the image isn't on the disk.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Cmd(#[from] CmdError),
    #[error("coreos-installer: exit code {code}: {text}")]
    Failed { code: i32, text: String },
}

/// Writes the image onto `device` so that the system applies `ignition` when it first boots; `args` go to the tool as
/// they are. How far it is goes to `told`; a receiver that is gone is no reason to stop.
///
/// # Errors
/// When the tool can't be run, or fails. It leaves an empty partition table then, so that it can be run again.
pub async fn write(
    device: &Path,
    ignition: &Path,
    args: &[String],
    tools: &Tools,
    told: &mpsc::UnboundedSender<Percent>,
) -> Result<(), WriteError> {
    let cmd = tools.cmd("coreos-installer").args(["install", "--insecure", "-i"]).arg(ignition);
    let mut progress = Progress::default();
    let done = cmd
        .args(args)
        .arg(device)
        .timeout(LIMIT)
        .run_watched(|piece| {
            for percent in progress.read(piece) {
                let _ = told.send(percent);
            }
        })
        .await?;
    if done.success() {
        return Ok(());
    }
    Err(WriteError::Failed { code: done.code, text: last_words(&done.stderr) })
}

/// The end of what a program says is where it tells why it failed.
fn last_words(stderr: &[u8]) -> String {
    const LONGEST: usize = 512;
    let text = String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(LONGEST)..]);
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(dir: &Path, script: &str) -> Tools {
        let text = format!("for arg; do echo \"$arg\" >> {}/asked; done\n{script}", dir.display());
        crate::script::script(&dir.join("coreos-installer"), &text);
        Tools::at(dir)
    }

    async fn written(script: &str, dir: &Path) -> (Result<(), WriteError>, Vec<u8>) {
        let (told, mut seen) = mpsc::unbounded_channel();
        let args = ["--append-karg".to_owned(), "$(reboot)".to_owned()];
        let tools = tool(dir, script);
        let done = write(Path::new("/dev/vda"), Path::new("/opt/a b.ign"), &args, &tools, &told).await;
        drop(told);
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
        let (done, told) = written(script, dir.path()).await;
        done.unwrap();
        assert_eq!(told, [12, 50, 100]);
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(asked, "install\n--insecure\n-i\n/opt/a b.ign\n--append-karg\n$(reboot)\n/dev/vda\n");
    }

    #[tokio::test]
    async fn a_failure_is_told_with_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let script = "yes '(1%)' | head -n 5000 >&2; echo 'Error: found busy partitions' >&2; exit 1";
        let (done, _) = written(script, dir.path()).await;
        let error = done.unwrap_err().to_string();
        assert!(error.starts_with("coreos-installer: exit code 1: "), "{error}");
        assert!(error.ends_with("Error: found busy partitions") && error.len() < 600, "{error}");
        let none = Tools::at(dir.path().join("none"));
        let (told, _seen) = mpsc::unbounded_channel();
        let gone = write(Path::new("/dev/vda"), Path::new("/x"), &[], &none, &told).await;
        assert!(matches!(gone, Err(WriteError::Cmd(CmdError::Start { .. }))));
    }
}
