//! What an attempt that was killed has left running: its writer of the disk. Where systemd doesn't take it along, it goes on
//! alone, and two writers must not share a disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tracing::{info, warn};

use super::{Host, INSTALL_DIR};

/// The program that writes the image.
pub(crate) const WRITER: &str = "coreos-installer";
/// A process that waits for a disk dies when the disk has answered.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Host {
    /// Ends writers of earlier attempts. Called only by an attempt that holds the machine's lock: there are no others.
    pub async fn end_leftover_writers(&self) {
        for writer in self.writers() {
            info!(pid = writer.pid.as_raw_pid(), "a writer of an earlier attempt still runs: ending it");
            // Fails when it has just ended by itself.
            let _ = kill_process(writer.pid, Signal::KILL);
            let gone = async {
                while writer.runs() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            if tokio::time::timeout(TIMEOUT, gone).await.is_err() {
                warn!(pid = writer.pid.as_raw_pid(), "it doesn't end: the disk may be busy");
            }
        }
    }

    fn writers(&self) -> Vec<Writer> {
        let entries = std::fs::read_dir(self.path("/proc")).into_iter().flatten().flatten();
        let process = |path: PathBuf| {
            let pid = path.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
            let arguments = std::fs::read(path.join("cmdline")).ok()?;
            is_writer(&arguments).then_some(Writer { pid, path })
        };
        entries.filter_map(|entry| process(entry.path())).collect()
    }
}

struct Writer {
    pid: Pid,
    path: PathBuf,
}

impl Writer {
    /// One that is dead but not yet buried has no arguments any more.
    fn runs(&self) -> bool {
        std::fs::read(self.path.join("cmdline")).is_ok_and(|arguments| is_writer(&arguments))
    }
}

/// Whether an argument vector, as `/proc` tells it, is one that this installer makes: the config is one of its own files.
fn is_writer(arguments: &[u8]) -> bool {
    let words: Vec<&[u8]> = arguments.split(|byte| *byte == 0).collect();
    let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let is_program = words.first().is_some_and(|first| Path::new(&text(first)).ends_with(WRITER));
    let is_own = |pair: &[&[u8]]| pair[0] == b"-i" && Path::new(&text(pair[1])).starts_with(INSTALL_DIR);
    is_program && words.windows(2).any(is_own)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, Stdio};

    use assisted_base::process::Tools;

    use super::*;

    /// A shell that looks like a writer, and waits for words that don't come.
    fn writer(name: &str, config: &str) -> Child {
        let mut command = Command::new("sh");
        command.arg0(name).args(["-c", "read x", "x", "install", "--insecure", "-i", config, "/dev/sda"]);
        command.stdin(Stdio::piped()).spawn().unwrap()
    }

    #[tokio::test]
    async fn only_writers_of_installations_are_ended() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/proc", dir.path().join("proc")).unwrap();
        let host = Host::at(dir.path(), Tools::default());
        let own = format!("{INSTALL_DIR}/master-{}.ign", std::process::id());
        let mut left = writer("/usr/bin/coreos-installer", &own);
        let mut others = [writer("coreos-installer", "/root/my.ign"), writer("another", &own)];
        let pid = left.id();
        while !host.writers().iter().any(|writer| writer.pid.as_raw_pid().unsigned_abs() == pid) {
            tokio::task::yield_now().await;
        }
        host.end_leftover_writers().await;
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
