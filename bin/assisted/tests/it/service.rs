//! A service process on a free port with an empty database; it ends with the test.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assisted_testkit::wait::{Wait, child};
use assisted_testkit::{Server, built, memory_dir};

/// How long a command may take; some wait for simulated hosts.
const COMMAND: Duration = Duration::from_secs(300);

pub const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz","email":"user@example.com"}}}"#;

pub struct Service {
    server: Server,
    pub url: String,
    pub dir: tempfile::TempDir,
}

impl Service {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A service whose clusters can be installed, on simulated hosts.
    pub fn simulating() -> Self {
        Self::start_with(&["--generator", "simulation"])
    }

    /// A service whose clusters are installed from releases; `registries_conf` says where those are.
    pub fn installing(registries_conf: &Path) -> Self {
        Self::launch(|command| {
            command.args(["--generator", "openshift"]).env("REGISTRIES_CONF_FILE", registries_conf);
        })
    }

    /// A service with more in its environment.
    pub fn start_with_env(env: &[(&str, &str)]) -> Self {
        Self::launch(|command| {
            command.envs(env.iter().copied());
        })
    }

    fn start_with(args: &[&str]) -> Self {
        Self::launch(|command| {
            command.args(args);
        })
    }

    /// A service with the data that another has left.
    pub fn on(dir: tempfile::TempDir) -> Self {
        Self::launch_in(dir, |_| ())
    }

    /// The same with more in its environment.
    pub fn on_with_env(dir: tempfile::TempDir, env: &[(&str, &str)]) -> Self {
        Self::launch_in(dir, |command| {
            command.envs(env.iter().copied());
        })
    }

    fn launch(more: impl FnOnce(&mut Command)) -> Self {
        let dir = memory_dir().unwrap();
        std::fs::write(dir.path().join("pull-secret.json"), PULL_SECRET).unwrap();
        Self::launch_in(dir, more)
    }

    fn launch_in(dir: tempfile::TempDir, more: impl FnOnce(&mut Command)) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_assisted"));
        let server = Server::start(program, dir.path(), more).unwrap();
        Self { url: server.url(), server, dir }
    }

    /// Runs the command line against the service.
    pub fn cli(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["--url", &self.url]).args(args).current_dir(self.dir.path());
        output(&mut command, &self.dir.path().join("service.log"))
    }

    /// The answer of a command that has to succeed, as a program reads it.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let output = self.cli(&[args, &["-o", "json"]].concat());
        assert!(output.status.success(), "{args:?}: {}\n{}", text(&output.stderr), self.log());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The simulation of hosts, against the service.
    pub fn simulation(&self, args: &[&str]) -> Command {
        let mut command = Command::new(built("assisted-lab").unwrap());
        command.args(["--url", &self.url, "-o", "json", "simulate"]).args(args).current_dir(self.dir.path());
        command
    }

    /// Starts the command line against the service; its output can be read line by line.
    pub fn follow(&self, args: &[&str]) -> (Following, impl Iterator<Item = String> + use<>) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        follow(command.args(["--url", &self.url]).args(args).current_dir(self.dir.path()))
    }

    /// Creates a cluster and an infra-env of the same name: their ids.
    pub fn cluster(&self, name: &str) -> (String, String) {
        let secret = ["--pull-secret-file", "pull-secret.json"];
        let create = ["cluster", "create", name, "--base-domain", "example.com"];
        let cluster = self.id(&[create.as_slice(), &secret].concat());
        // Under this name one of the stock clients looks for it.
        let infra_env = format!("{name}_infra-env");
        let create = ["infra-env", "create", &infra_env, "--cluster", &cluster];
        let infra_env = self.id(&[create.as_slice(), &secret].concat());
        (cluster, infra_env)
    }

    /// Waits until so many hosts have told what they are made of: the hosts.
    pub fn hosts_with_inventory(&self, count: usize) -> Vec<serde_json::Value> {
        let begin = Instant::now();
        loop {
            let hosts = self.json(&["host", "list"]).as_array().cloned().unwrap();
            let told =
                |host: &&serde_json::Value| host["inventory"].as_str().is_some_and(|text| !text.is_empty());
            if hosts.iter().filter(told).count() >= count {
                return hosts;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(120),
                "not {count} hosts have inventories: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ends the service; what it leaves is its folder.
    pub fn stop(mut self) -> tempfile::TempDir {
        assert!(self.server.stop().unwrap().success(), "{}", self.server.log());
        self.dir
    }

    /// Memory that the service has held at the most so far, in KiB.
    pub fn peak_memory(&self) -> u64 {
        peak_memory_of(self.server.pid()).unwrap()
    }

    /// The id of what a command creates.
    pub fn id(&self, args: &[&str]) -> String {
        self.json(args)["id"].as_str().unwrap().to_owned()
    }

    /// The code by which the first administrator is made, as the service prints it.
    pub fn setup_code(&self) -> String {
        let line = self.server.wait_for_line("--setup").unwrap();
        line.split_whitespace().skip_while(|word| *word != "--setup").nth(1).unwrap().to_owned()
    }

    pub fn log(&self) -> String {
        self.server.log()
    }
}

/// Runs a command to its end, within a limit; what it asks writes a log, which is shown when the command does not end.
pub fn output(command: &mut Command, log: &Path) -> Output {
    let mut wait = Wait::new(format!("the end of {command:?}"), log.display(), COMMAND);
    child::output(command, &mut wait)
        .unwrap_or_else(|error| panic!("{error}\n{}", std::fs::read_to_string(log).unwrap_or_default()))
}

/// Memory that a process has held at the most so far, in KiB; `None` once it has ended.
pub fn peak_memory_of(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The command line on a terminal of its own, which takes words as a shell does; what it shows there is its standard output.
pub fn on_terminal(words: &[&str]) -> Command {
    let command = [&[env!("CARGO_BIN_EXE_assisted")][..], words].concat().join(" ");
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    terminal.stdin(Stdio::null());
    terminal
}

/// Starts a command whose output can be read line by line.
pub fn follow(command: &mut Command) -> (Following, impl Iterator<Item = String> + use<>) {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    (Following(child), lines)
}

/// A command that runs beside the test; it ends with it at the latest.
pub struct Following(Child);

impl Following {
    /// Waits for the end: the exit code, and what was said on standard error.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut told = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (self.0.wait().unwrap().code(), told)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
