//! A program to run, and its run.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use assisted_wire::secret::Secret;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdout, Command};

use super::{CmdError, CmdOutput, TOKEN_VARIABLE, is_contained};

/// How often a program that is busy is tried, and how long is waited in between.
const STARTS: u32 = 100;
const START_PAUSE: Duration = Duration::from_millis(10);

/// A program to run.
#[derive(Clone, Debug)]
pub struct Cmd {
    program: OsString,
    args: Vec<OsString>,
    timeout: Duration,
    output_limit: usize,
    token: Option<Secret>,
    env: Vec<(OsString, OsString)>,
    on_host: bool,
    with_processes: bool,
    cut: bool,
    dir: Option<PathBuf>,
    inherits: bool,
    merged: bool,
    memory: Option<u64>,
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
            dir: None,
            inherits: true,
            merged: false,
            memory: None,
        }
    }

    /// Hands it the token of this process, which programs don't get otherwise.
    pub fn token(mut self, token: &Secret) -> Self {
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

    /// The folder that it runs in, instead of this process's.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Inherits no variable: it has those that it is given.
    pub fn only_own_env(mut self) -> Self {
        self.inherits = false;
        self
    }

    /// Takes both of its outputs as one, in the order in which it writes.
    pub fn merged(mut self) -> Self {
        self.merged = true;
        self
    }

    /// How much memory its data may take, in bytes.
    pub fn memory(mut self, limit: u64) -> Self {
        self.memory = Some(limit);
        self
    }

    /// The same program in the namespaces of the host, where this one runs in a container (agent-protocol §1.10).
    pub fn on_host(mut self) -> Self {
        self.on_host = is_contained();
        self
    }

    /// In the namespace of the host's processes, and not in that of its network.
    pub(super) fn with_processes(mut self) -> Self {
        self.with_processes = true;
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
    pub fn command_line(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// The program, for people.
    pub(super) fn program_name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// Its time, the size of its output, and its memory.
    pub(super) fn limits(&self) -> (Duration, usize, Option<u64>) {
        (self.timeout, self.output_limit, self.memory)
    }

    /// Becomes that program, called `name`, with the whole environment of this process: it is its successor. Comes back
    /// only where that fails.
    pub fn take_over(self, name: &str) -> io::Error {
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
        let program = || self.program_name();
        let io = |source| CmdError::Io { program: program(), source };
        let (mut command, merged) = self.command().map_err(io)?;
        let spawned = spawn(&mut command).await;
        // It holds the ends that are written to.
        drop(command);
        let mut child = spawned.map_err(|source| CmdError::Start { program: program(), source })?;
        let mut group = Group::of(&child);
        if let Some((pid, limit)) = group.0.zip(self.memory) {
            limit_memory(pid, limit).map_err(io)?;
        }
        let stdout = child.stdout.take();
        let stdout = merged.map(Output::Merged).or(stdout.map(Output::Stdout));
        let stderr = child.stderr.take();
        let limit = Limit { bytes: self.output_limit, cut: self.cut };
        let work = async {
            let mut errors = Vec::new();
            let ((), (), status) = tokio::try_join!(
                async {
                    match stdout {
                        Some(Output::Merged(stream)) => copy(stream, sink, limit, |_| {}).await,
                        Some(Output::Stdout(stream)) => copy(stream, sink, limit, |_| {}).await,
                        None => Ok(()),
                    }
                },
                async {
                    match stderr {
                        Some(stream) => copy(stream, &mut errors, limit, watch).await,
                        None => Ok(()),
                    }
                },
                async { child.wait().await.map_err(ReadError::Io) }
            )?;
            Ok((errors, status))
        };
        match tokio::time::timeout(self.timeout, work).await {
            Ok(Ok((stderr, status))) => {
                // Ended by itself; what it may have left behind has not its number any more.
                group.0 = None;
                Ok(CmdOutput { status, stdout: Vec::new(), stderr })
            }
            Ok(Err(ReadError::TooLong)) => {
                Err(CmdError::TooLong { program: program(), limit: self.output_limit })
            }
            Ok(Err(ReadError::Io(source))) => Err(io(source)),
            Err(_) => Err(CmdError::Timeout { program: program(), limit: self.timeout }),
        }
    }

    /// The program as the system takes it, and where to read what it writes if that is one stream.
    pub(super) fn command(&self) -> io::Result<(Command, Option<pipe::Receiver>)> {
        let (first, args) = self.argv();
        let mut command = Command::new(first);
        if self.inherits {
            command.env_remove(TOKEN_VARIABLE);
        } else {
            command.env_clear();
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(token) = &self.token {
            command.env(TOKEN_VARIABLE, token.expose());
        }
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command.args(args).stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        if !self.merged {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            return Ok((command, None));
        }
        let (output, input) = io::pipe()?;
        command.stdout(input.try_clone()?).stderr(input);
        Ok((command, Some(pipe::Receiver::from_owned_fd(OwnedFd::from(output))?)))
    }
}

/// Where what a program writes comes from.
enum Output {
    Stdout(ChildStdout),
    Merged(pipe::Receiver),
}

/// Starts a program that this process may have written itself a moment ago: whatever another thread starts meanwhile holds the
/// file open for writing until it has become that other program.
pub(super) async fn spawn(command: &mut Command) -> io::Result<Child> {
    for _ in 1..STARTS {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(START_PAUSE).await;
            }
            spawned => return spawned,
        }
    }
    command.spawn()
}

pub(super) fn limit_memory(pid: Pid, bytes: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    match prlimit(Some(pid), Resource::Data, limit) {
        // It has ended already.
        Ok(_) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A process group that dies with this value, unless it ended in peace.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// The group of a program that leads one.
    pub(super) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    pub(super) fn pid(&self) -> Option<Pid> {
        self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            // Fails when all of them have ended.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

enum ReadError {
    TooLong,
    Io(io::Error),
}

/// How much is kept, and whether more is thrown away or ends the program.
#[derive(Clone, Copy)]
struct Limit {
    bytes: usize,
    cut: bool,
}

async fn copy(
    mut stream: impl AsyncRead + Unpin,
    sink: &mut (impl AsyncWrite + Unpin),
    limit: Limit,
    mut watch: impl FnMut(&[u8]),
) -> Result<(), ReadError> {
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
        let CmdOutput { stdout, stderr, .. } = &output;
        assert_eq!((output.code(), stdout.as_slice(), stderr.as_slice()), (3, &b"out\n"[..], &b"err\n"[..]));
        assert_eq!(sh("kill -9 $$").run().await.unwrap().code(), -1);
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
        assert_eq!((output.code(), output.stdout.len(), output.stderr.len()), (3, 1_000, 1_000));
    }

    #[tokio::test]
    async fn endless_output_is_cut_off() {
        let error = Cmd::new("yes").output_limit(10_000).run().await.unwrap_err();
        assert!(matches!(error, CmdError::TooLong { limit: 10_000, .. }), "{error}");
    }

    #[tokio::test]
    async fn both_outputs_can_be_one() {
        let output = sh("echo a; echo b >&2; echo c").merged().run().await.unwrap();
        assert_eq!((output.text().as_str(), output.stderr.as_slice()), ("a\nb\nc\n", &b""[..]));
    }

    #[tokio::test]
    async fn place_and_environment_are_as_told() {
        let dir = tempfile::tempdir().unwrap();
        let cmd = Cmd::new("/bin/sh").args(["-c", "pwd; env | sort"]).only_own_env().dir(dir.path());
        let output = cmd.env("GIVEN", "yes").run().await.unwrap().text();
        let mut lines = output.lines();
        assert_eq!(lines.next(), dir.path().canonicalize().unwrap().to_str());
        // What a shell sets itself.
        let given: Vec<_> = lines.filter(|line| !line.starts_with(['P', 'O', 'S', '_'])).collect();
        assert_eq!(given, ["GIVEN=yes"], "{output}");
    }

    #[tokio::test]
    async fn memory_has_its_limit() {
        let output = sh("until [ \"$(ulimit -d)\" = 4194304 ]; do :; done").memory(4 << 30).run().await;
        assert!(output.unwrap().success());
    }

    #[tokio::test]
    async fn no_program_gets_the_token_unless_it_is_handed_over() {
        let token = Secret::from("not for everybody");
        let ask = || sh(&format!("printf %s \"${TOKEN_VARIABLE}\""));
        assert_eq!(ask().run().await.unwrap().text(), "");
        assert_eq!(ask().token(&token).run().await.unwrap().text(), "not for everybody");
        assert!(!format!("{:?}", ask().token(&token)).contains("everybody"));
    }
}
