//! The one way to run another program: argument list, time limit, output limit.
//!
//! The program gets its own process group, nothing to read, and no shell. When a limit is passed, or nobody waits any
//! more, the whole group is killed, children included. It inherits the environment, but for the agent's token.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::Command;

/// Where the agent finds its token; no program that it runs is to find it too.
pub const TOKEN_VARIABLE: &str = "PULL_SECRET_TOKEN";

/// Longest text of a program that an error repeats, in bytes.
const LONGEST_COMPLAINT: usize = 512;

/// A program to run.
#[derive(Clone, Debug)]
pub struct Cmd {
    program: OsString,
    args: Vec<OsString>,
    timeout: Duration,
    output_limit: usize,
    token: Option<SecretString>,
    env: Vec<(OsString, OsString)>,
    on_host: bool,
    with_processes: bool,
    cut: bool,
}

/// Whether this program runs in a container on the host, so that the host's files are elsewhere.
pub fn is_contained() -> bool {
    let mount_namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    match (mount_namespace("1"), mount_namespace("self")) {
        (Some(host), Some(own)) => host != own,
        _ => false,
    }
}

/// Where the host's programs are found.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    dir: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    with_processes: bool,
}

impl Tools {
    /// All in one directory, instead of where `PATH` says.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: Some(dir.into()), ..Self::default() }
    }

    /// Variables that each program gets besides those of this one.
    pub fn env(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Enters the host's namespace of processes too, and not that of its network, which containers of installers share
    /// (installer-and-controller §0).
    pub fn with_processes(mut self) -> Self {
        self.with_processes = true;
        self
    }

    /// A program of the host, in its namespaces.
    pub fn cmd(&self, program: &str) -> Cmd {
        let cmd = Cmd::new(self.path(program)).on_host();
        Cmd { env: self.env.clone(), with_processes: self.with_processes, ..cmd }
    }

    /// A program beside the agent, in its own namespaces.
    pub fn own(&self, program: &str) -> Cmd {
        Cmd::new(self.path(program))
    }

    fn path(&self, program: &str) -> PathBuf {
        match (&self.dir, Path::new(program).file_name()) {
            (Some(dir), Some(name)) => dir.join(name),
            _ => program.into(),
        }
    }
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

    /// What it says about itself for an error: standard error, or else standard output, cut where it is long.
    pub fn complaint(&self) -> String {
        let text = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        String::from_utf8_lossy(&text[..text.len().min(LONGEST_COMPLAINT)]).trim().to_owned()
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
            token: None,
            env: Vec::new(),
            on_host: false,
            with_processes: false,
            cut: false,
        }
    }

    /// Hands it the agent's token, which programs don't get otherwise.
    pub fn token(mut self, token: &SecretString) -> Self {
        self.token = Some(token.clone());
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
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

    /// Throws away what it writes beyond the limit, and lets it go on: for programs whose work matters more than what they
    /// say about it.
    pub fn cut_output(mut self) -> Self {
        self.cut = true;
        self
    }

    /// The same program in the namespaces of the host, where the agent runs in a container (agent-protocol §1.10).
    pub fn on_host(mut self) -> Self {
        self.on_host = is_contained();
        self
    }

    /// Program and arguments as they are run.
    fn argv(&self) -> (&OsStr, Vec<&OsStr>) {
        const ENTER: [&str; 5] = ["--target", "1", "--cgroup", "--mount", "--ipc"];
        let args = self.args.iter().map(OsString::as_os_str);
        if self.on_host {
            let more = if self.with_processes { "--pid" } else { "--net" };
            let enter =
                ENTER.into_iter().chain([more, "--"]).map(OsStr::new).chain([self.program.as_os_str()]);
            (OsStr::new("nsenter"), enter.chain(args).collect())
        } else {
            (&self.program, args.collect())
        }
    }

    /// The program and its arguments, for people.
    pub fn shown(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Becomes that program, called `name`, with the whole environment of this process: it is its successor. Comes back
    /// only where that fails.
    pub fn take_over(self, name: &str) -> std::io::Error {
        let mut successor = std::process::Command::new(&self.program);
        successor.arg0(name).args(&self.args).envs(self.env).exec()
    }

    /// Runs it to its end.
    pub async fn run(self) -> Result<CmdOutput, CmdError> {
        let mut stdout = Vec::new();
        let output = self.run_into(&mut stdout).await?;
        Ok(CmdOutput { stdout, ..output })
    }

    /// Runs it to its end, its standard output going into `sink` as it comes; what came before a failure stays there.
    pub async fn run_into(self, sink: &mut (impl AsyncWrite + Unpin)) -> Result<CmdOutput, CmdError> {
        self.run_with(sink, |_| {}).await
    }

    /// Runs it to its end, and shows each piece of its standard error as it comes.
    pub async fn run_watched(self, watch: impl FnMut(&[u8])) -> Result<CmdOutput, CmdError> {
        let mut stdout = Vec::new();
        let output = self.run_with(&mut stdout, watch).await?;
        Ok(CmdOutput { stdout, ..output })
    }

    async fn run_with(
        self,
        sink: &mut (impl AsyncWrite + Unpin),
        watch: impl FnMut(&[u8]),
    ) -> Result<CmdOutput, CmdError> {
        let program = self.program.to_string_lossy().into_owned();
        let (first, args) = self.argv();
        let mut command = Command::new(first);
        command.env_remove(TOKEN_VARIABLE).envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(token) = &self.token {
            command.env(TOKEN_VARIABLE, token.expose_secret());
        }
        let spawned = command
            .args(args)
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
        let limit = Limit { bytes: self.output_limit, cut: self.cut };
        let work = async {
            let mut errors = Vec::new();
            let ((), (), status) = tokio::try_join!(
                copy(stdout, sink, limit, |_| {}),
                copy(stderr, &mut errors, limit, watch),
                async { child.wait().await.map_err(ReadError::Io) }
            )?;
            Ok((errors, status))
        };
        match tokio::time::timeout(self.timeout, work).await {
            Ok(Ok((stderr, status))) => {
                group.0 = None;
                Ok(CmdOutput { code: status.code().unwrap_or(-1), stdout: Vec::new(), stderr })
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

/// How much is kept, and whether more is thrown away or ends the program.
#[derive(Clone, Copy)]
struct Limit {
    bytes: usize,
    cut: bool,
}

async fn copy(
    stream: Option<impl AsyncRead + Unpin>,
    sink: &mut (impl AsyncWrite + Unpin),
    limit: Limit,
    mut watch: impl FnMut(&[u8]),
) -> Result<(), ReadError> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut piece = vec![0; 16 << 10];
    let mut copied = 0;
    loop {
        let length = stream.read(&mut piece).await.map_err(ReadError::Io)?;
        if length == 0 {
            return sink.flush().await.map_err(ReadError::Io);
        }
        watch(&piece[..length]);
        let room = length.min(limit.bytes - copied);
        sink.write_all(&piece[..room]).await.map_err(ReadError::Io)?;
        copied += room;
        if room < length && !limit.cut {
            sink.flush().await.map_err(ReadError::Io)?;
            return Err(ReadError::TooLong);
        }
    }
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
    async fn what_is_too_long_can_be_thrown_away() {
        let script = "head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; exit 3";
        let output = sh(script).output_limit(1_000).cut_output().run().await.unwrap();
        assert_eq!((output.code, output.stdout.len(), output.stderr.len()), (3, 1_000, 1_000));
    }

    #[tokio::test]
    async fn endless_output_is_cut_off() {
        let error = Cmd::new("yes").output_limit(10_000).run().await.unwrap_err();
        assert!(matches!(error, CmdError::TooLong { limit: 10_000, .. }), "{error}");
    }
}
