//! The machine that builds: its files and its programs, both injectable, so that a test is a machine of its own.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assisted_base::process::{Cmd, CmdError, CmdOutput, Tools};

/// Rendered configurations are the longest that is read whole, in bytes; they stay far below.
const LONGEST: u64 = 64 << 20;

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
    tools: Tools,
    faster: u32,
}

impl Machine {
    /// The machine that this program runs on; its programs get these variables in addition.
    pub fn live(env: impl IntoIterator<Item = (String, String)>) -> Self {
        let contained = assisted_base::process::is_contained();
        let root = if contained { "/proc/1/root" } else { "/" };
        Self { root: root.into(), tools: Tools::default().with_processes().env(env), faster: 1 }
    }

    /// A tree and programs that stand for a machine.
    pub fn at(root: impl Into<PathBuf>, tools: Tools) -> Self {
        Self { root: root.into(), tools, faster: 1 }
    }

    /// The machine with variables that its programs get in addition.
    pub(super) fn env(mut self, variables: Vec<(String, String)>) -> Self {
        self.tools = self.tools.env(variables);
        self
    }

    /// All pauses so many times shorter; for tests.
    pub fn faster(mut self, divisor: u32) -> Self {
        self.faster = divisor.max(1);
        self
    }

    /// A pause of this machine's pace.
    pub(crate) fn pace(&self, pause: Duration) -> Duration {
        pause / self.faster
    }

    pub(crate) async fn sleep(&self, pause: Duration) {
        tokio::time::sleep(self.pace(pause)).await;
    }

    /// Where this program finds a file of the machine. It is also the name that the machine's programs are given: they differ only where
    /// this program runs in a container, whose mounts are the machine's own then.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The same file as the machine's programs name it.
    pub(crate) fn name(&self, path: &str) -> String {
        match self.root == Path::new("/proc/1/root") {
            true => path.to_owned(),
            false => self.path(path).display().to_string(),
        }
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A whole file.
    pub(crate) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let length = File::open(self.path(path))?.take(LONGEST + 1).read_to_end(&mut bytes)?;
        if length as u64 > LONGEST {
            return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
        }
        Ok(bytes)
    }

    /// Writes a file whole or not at all, so that it outlasts a power cut, with its folders.
    pub(crate) fn write(&self, path: &str, mode: u32, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let target = self.path(path);
        let dir = target.parent().unwrap_or(&self.root);
        fs::create_dir_all(dir)?;
        let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(dir)?;
        file.write_all(bytes.as_ref())?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|error| error.error)?;
        File::open(dir)?.sync_all()
    }

    /// An empty folder, whatever was there before.
    pub(crate) fn fresh_dir(&self, path: &str) -> io::Result<()> {
        let dir = self.path(path);
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::create_dir_all(dir)
    }

    /// A program of the machine.
    pub(crate) fn cmd(&self, limit: Duration, program: &str) -> Cmd {
        self.tools.cmd(program).timeout(limit).cut_output()
    }

    /// Runs one of the short ones for what it prints; its failure as a sentence.
    pub(crate) async fn run<A: AsRef<std::ffi::OsStr>>(
        &self,
        limit: Duration,
        program: &str,
        args: &[A],
    ) -> Result<String, String> {
        require_success(program, self.cmd(limit, program).args(args).run().await)
            .map(|done| done.text().trim().to_owned())
    }
}

/// The output of a program that succeeded; all else is an error in a sentence.
pub(super) fn require_success(program: &str, done: Result<CmdOutput, CmdError>) -> Result<CmdOutput, String> {
    match done {
        Ok(done) if done.success() => Ok(done),
        Ok(done) => Err(format!("{program} failed with exit status {}: {}", done.code(), last(&done))),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a program failed stands at the end of what it says.
fn last(done: &CmdOutput) -> String {
    const LONGEST: usize = 400;
    let text = if done.stderr.is_empty() { &done.stdout } else { &done.stderr };
    let text = String::from_utf8_lossy(text);
    let text = text.trim();
    let begin = text.char_indices().rev().nth(LONGEST - 1).map_or(0, |(place, _)| place);
    text[begin..].replace('\n', "; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_the_machines() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::at(dir.path(), Tools::default());
        machine.write("/a/b", 0o600, "x").unwrap();
        assert_eq!(machine.read("/a/b").unwrap(), b"x");
        assert_eq!(fs::metadata(dir.path().join("a/b")).unwrap().permissions().mode() & 0o777, 0o600);
        machine.fresh_dir("/a").unwrap();
        assert!(!machine.exists("/a/b") && machine.exists("/a"));
        assert_eq!(machine.name("/a"), dir.path().join("a").display().to_string());
    }

    #[tokio::test]
    async fn failures_are_told_by_their_end() {
        let machine = Machine::at("/", Tools::default());
        let second = Duration::from_secs(20);
        assert_eq!(machine.run(second, "sh", &["-c", "echo ' a '"]).await.unwrap(), "a");
        let told = machine.run(second, "sh", &["-c", "echo x >&2; echo why >&2; exit 4"]).await.unwrap_err();
        assert_eq!(told, "sh failed with exit status 4: x; why");
    }
}
