//! A machine that is no more than namespaces, on which podman runs: what is in images is tried there, as hosts and people run it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tied;

/// What the machine has of the one that the test runs on; all else is empty and its own, devices included.
const FOLDERS: &str = "--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
    --tmpfs /etc --ro-bind /etc/passwd /etc/passwd --ro-bind /etc/group /etc/group --ro-bind-try /etc/alternatives /etc/alternatives \
    --ro-bind-try /etc/ld.so.cache /etc/ld.so.cache --dir /etc/pki --dir /etc/containers --proc /proc --dev /dev --bind /sys /sys \
    --tmpfs /run --dir /run/systemd/journal --tmpfs /tmp --tmpfs /var --dir /var/log --dir /var/tmp --tmpfs /opt --tmpfs /root \
    --dir /root/.docker --unshare-pid --unshare-uts --hostname lab-host --cap-add ALL --die-with-parent";

/// Makes the machine one in which podman runs: it asks for no control groups that it could be without, and for no more than this machine may
/// give.
const CONTAINERS: &str =
    "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\npids_limit = 0\n";

const STORAGE: &str =
    "[storage]\ndriver = \"vfs\"\ngraphroot = \"/var/lib/containers\"\nrunroot = \"/run/containers\"\n";

/// Real hosts have control groups of the second version alone.
const GROUPS: &str = "mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup\ntouch /run/systemd/journal/socket\n";

/// A machine on which podman runs. What was started on it ends when it is dropped.
#[derive(Debug)]
pub struct PodmanHost {
    dir: tempfile::TempDir,
    running: Mutex<Vec<Child>>,
}

impl Drop for PodmanHost {
    fn drop(&mut self) {
        for child in self.running.get_mut().unwrap_or_else(PoisonError::into_inner) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl PodmanHost {
    /// A machine that pulls from a registry without TLS. Its folders `containers` and `storage` are `/etc/containers` and podman's images there,
    /// and `bin` is `/usr/local/bin`.
    ///
    /// # Errors
    /// Nothing can be written.
    pub fn new(registry: &str) -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        for folder in ["containers", "storage", "bin"] {
            std::fs::create_dir(dir.path().join(folder))?;
        }
        let registries = format!("[[registry]]\nlocation = \"{registry}\"\ninsecure = true\n");
        for (name, text) in [
            ("containers.conf", CONTAINERS),
            ("storage.conf", STORAGE),
            ("registries.conf", &registries),
            ("policy.json", r#"{"default": [{"type": "insecureAcceptAnything"}]}"#),
        ] {
            std::fs::write(dir.path().join("containers").join(name), text)?;
        }
        Ok(Self { dir, running: Mutex::default() })
    }

    /// Where its folders are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What was written on it so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn command(&self, script: &str) -> io::Result<Command> {
        let bind = |from: &str, to: &str| {
            ["--bind".to_owned(), self.dir.path().join(from).display().to_string(), to.to_owned()]
        };
        let mut command = tied(Path::new("bwrap"));
        command.args(FOLDERS.split_whitespace());
        command.args(bind("containers", "/etc/containers"));
        command.args(["--dir", "/var/lib"]).args(bind("storage", "/var/lib/containers"));
        command.args(bind("bin", "/usr/local/bin"));
        command.args(["--as-pid-1", "--", "sh", "-c", &format!("{GROUPS}{script}")]);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        let log = File::options().create(true).append(true).open(self.log_path())?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// Starts the machine with a script as its first process; what that writes goes into its log.
    ///
    /// # Errors
    /// bubblewrap is not there.
    pub fn start(&self, script: &str) -> io::Result<()> {
        let child = self.command(script)?.spawn()?;
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(child);
        Ok(())
    }

    /// Runs a script as its first process to the end; whether it succeeded, and what it wrote.
    ///
    /// # Errors
    /// bubblewrap is not there, or it takes longer than it may.
    pub fn run(&self, script: &str, limit: Duration) -> io::Result<(bool, String)> {
        let before = self.log().len();
        let mut child = self.command(script)?.spawn()?;
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other(format!("it did not end within {limit:?}: {}", self.log())));
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        Ok((status.success(), self.log().split_off(before)))
    }
}
