//! The one way to run another program: argument list, time limit, output limit.
//!
//! The program gets its own process group, nothing to read, and no shell. When a limit is passed, or nobody waits any
//! more, the whole group is killed, children included. It inherits the environment, but for the agent's token.

use std::ffi::{OsStr, OsString};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// Where the agent finds its token; no program that it runs is to find it too.
pub const TOKEN_VARIABLE: &str = "PULL_SECRET_TOKEN";

/// A program to run.
#[derive(Clone, Debug)]
pub struct Cmd {
    program: OsString,
    args: Vec<OsString>,
    timeout: Duration,
    output_limit: usize,
}

/// What a program left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CmdOutput {
    /// Exit status; -1 when a signal ended it.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl CmdOutput {
    /// Standard output as text; what is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Whether the program reported success.
    pub fn success(&self) -> bool {
        self.code == 0
    }
}

/// Why a program brought no result.
#[derive(Debug, thiserror::Error)]
pub enum CmdError {
    #[error("{program} can't be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{program} was timed out after {} seconds", limit.as_secs_f64())]
    Timeout { program: String, limit: Duration },
    #[error("{program} wrote more than {limit} bytes")]
    TooLong { program: String, limit: usize },
    #[error("{program}: {source}")]
    Io { program: String, source: std::io::Error },
}

impl Cmd {
    /// A program with a minute and a megabyte for each of its outputs.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            timeout: Duration::from_secs(60),
            output_limit: 1 << 20,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, args: I) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// How long it may run, its children that keep its outputs open included.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// How much each of its two outputs may hold, in bytes.
    pub fn output_limit(mut self, limit: usize) -> Self {
        self.output_limit = limit;
        self
    }

    /// The same program in the namespaces of the host, where the agent runs in a container (agent-protocol §1.10).
    pub fn on_host(self) -> Self {
        let mount_namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        match (mount_namespace("1"), mount_namespace("self")) {
            (Some(host), Some(own)) if host != own => {
                const ENTER: [&str; 7] = ["--target", "1", "--cgroup", "--mount", "--ipc", "--net", "--"];
                let args = ENTER.into_iter().map(OsString::from);
                let args = args.chain([self.program]).chain(self.args).collect();
                Self { program: "nsenter".into(), args, ..self }
            }
            _ => self,
        }
    }

    /// Runs it to its end.
    pub async fn run(self) -> Result<CmdOutput, CmdError> {
        let program = self.program.to_string_lossy().into_owned();
        let spawned = Command::new(&self.program)
            .args(&self.args)
            .env_remove(TOKEN_VARIABLE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = spawned.map_err(|source| CmdError::Start { program: program.clone(), source })?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let mut group = Group(id);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let work = async {
            tokio::try_join!(read(stdout, self.output_limit), read(stderr, self.output_limit), async {
                child.wait().await.map_err(ReadError::Io)
            })
        };
        match tokio::time::timeout(self.timeout, work).await {
            Ok(Ok((stdout, stderr, status))) => {
                group.0 = None;
                Ok(CmdOutput { code: status.code().unwrap_or(-1), stdout, stderr })
            }
            Ok(Err(ReadError::TooLong)) => Err(CmdError::TooLong { program, limit: self.output_limit }),
            Ok(Err(ReadError::Io(source))) => Err(CmdError::Io { program, source }),
            Err(_) => Err(CmdError::Timeout { program, limit: self.timeout }),
        }
    }
}

/// A process group that dies with this value, unless it ended in peace.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

enum ReadError {
    TooLong,
    Io(std::io::Error),
}

async fn read(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit as u64 + 1).read_to_end(&mut bytes).await.map_err(ReadError::Io)?;
    }
    if bytes.len() > limit { Err(ReadError::TooLong) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Cmd {
        Cmd::new("sh").arg("-c").arg(script)
    }

    async fn until(come: impl Fn() -> bool) {
        let seen = tokio::time::timeout(Duration::from_secs(60), async {
            while !come() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        seen.await.unwrap();
    }

    #[tokio::test]
    async fn both_outputs_and_the_status_come_back() {
        let output = sh("echo out; echo err >&2; exit 3").run().await.unwrap();
        assert_eq!(output, CmdOutput { code: 3, stdout: b"out\n".into(), stderr: b"err\n".into() });
        assert_eq!(sh("kill -9 $$").run().await.unwrap().code, -1);
    }

    #[tokio::test]
    async fn arguments_are_no_script() {
        let output = Cmd::new("printf").args(["%s", "$(id) `id`; \n*"]).run().await.unwrap();
        assert_eq!(output.text(), "$(id) `id`; \n*");
    }

    #[tokio::test]
    async fn an_absent_program_is_told() {
        let error = Cmd::new("/no/such/program").run().await.unwrap_err();
        assert!(matches!(error, CmdError::Start { .. }));
    }

    #[tokio::test]
    async fn the_whole_group_dies_when_nobody_waits() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        // The child keeps the outputs open after its parent is gone.
        let script = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}", file.display());
        let run = tokio::spawn(sh(&script).run());
        until(|| file.exists()).await;
        run.abort();
        let child = std::fs::read_to_string(&file).unwrap();
        let status = format!("/proc/{}/stat", child.trim());
        // Killed, it may stand as a zombie until it is reaped.
        until(|| match std::fs::read_to_string(&status) {
            Ok(stat) => stat.contains(") Z ") || stat.contains(") X "),
            Err(_) => true,
        })
        .await;
    }

    #[tokio::test]
    async fn a_program_has_its_time() {
        let error = sh("sleep 1000").timeout(Duration::from_millis(20)).run().await.unwrap_err();
        assert!(matches!(error, CmdError::Timeout { .. }), "{error}");
    }

    #[tokio::test]
    async fn endless_output_is_cut_off() {
        let error = Cmd::new("yes").output_limit(10_000).run().await.unwrap_err();
        assert!(matches!(error, CmdError::TooLong { limit: 10_000, .. }), "{error}");
    }
}
