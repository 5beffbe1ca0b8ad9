//! Installations while the service, its database or its disk fail: they go on to the end all the same.

mod database;
mod disk;
mod failpoint;
mod power;
mod replicas;
mod three_replicas;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assisted_testkit::wait::{Wait, child};
use assisted_testkit::{Port, built, memory_dir};
use serde_json::Value;

use crate::service;

/// No installation here takes longer than a minute or so; one that hangs must end.
const LIMIT: Duration = Duration::from_secs(240);

/// How long a list may take that tells why a test failed.
const LIST: Duration = Duration::from_secs(20);

/// One after another: each takes all of a small machine, and simulated owners lose patience with what does not move.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Data of a service, and the port at which it is found each time that it is started.
pub struct Site {
    pub dir: tempfile::TempDir,
    pub data: PathBuf,
    pub database: Option<String>,
    pub port: Port,
    generator: &'static str,
}

impl Site {
    pub fn new(database: Option<String>) -> Self {
        let dir = memory_dir().unwrap();
        let data = dir.path().join("data");
        let port = Port::free().unwrap();
        Self { dir, data, database, port, generator: "simulation" }
    }

    /// The same with clusters that are installed from releases.
    pub fn installing(self) -> Self {
        Self { generator: "openshift", ..self }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number)
    }

    /// Starts a service; what it logs is added to what others logged before.
    pub fn serve(&self, more: &[(&str, String)]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args([
            "serve",
            "--generator",
            self.generator,
            "--listen",
            &format!("127.0.0.1:{}", self.port.number),
        ]);
        command.arg("--data-dir").arg(&self.data).envs(more.iter().map(|(name, value)| (name, value)));
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// What is waited for, within a limit; simulation and service write into the folder.
    fn wait(&self, what: impl Display, limit: Duration) -> Wait {
        Wait::new(what, self.dir.path().display(), limit)
    }

    /// Goes on waiting, and says every half minute for what; once the time is up, the test fails.
    fn go_on(&self, wait: &mut Wait) {
        wait.go_on().unwrap_or_else(|late| panic!("{late}\n{}", self.story()));
    }

    /// Lets simulated hosts be installed; they wait for a service that is away.
    pub fn simulate(&self, more: &[&str]) -> Process {
        self.simulate_at(&self.url(), more)
    }

    /// The same, on another way to the service.
    pub fn simulate_at(&self, url: &str, more: &[&str]) -> Process {
        let out = File::create(self.dir.path().join("report.json")).unwrap();
        let told = File::create(self.dir.path().join("simulation.log")).unwrap();
        let mut command = Command::new(built("assisted-lab").unwrap());
        command.args(["--url", url, "-o", "json", "simulate", "--speed", "600"]).args(more);
        Process(command.stdin(Stdio::null()).stdout(out).stderr(told).spawn().unwrap())
    }

    /// Waits for the end of a simulation, which has to be the expected one; does something all the while.
    pub fn finish(&self, simulation: Process, meanwhile: impl FnMut()) -> Value {
        self.finish_within(LIMIT, simulation, meanwhile)
    }

    /// The same for one that takes longer.
    pub fn finish_within(
        &self,
        limit: Duration,
        mut simulation: Process,
        mut meanwhile: impl FnMut(),
    ) -> Value {
        let mut wait = self.wait("the end of the simulation", limit);
        let status = loop {
            if let Some(status) = simulation.0.try_wait().unwrap() {
                break status;
            }
            self.go_on(&mut wait);
            meanwhile();
            std::thread::sleep(Duration::from_millis(20));
        };
        let report = std::fs::read(self.dir.path().join("report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap_or_default();
        assert!(status.success() && report["as_expected"] == true, "{report:#}\n{}", self.story());
        report
    }

    /// Where everything stands, and the last that was logged.
    fn story(&self) -> String {
        let told = std::fs::read_to_string(self.dir.path().join("simulation.log")).unwrap_or_default();
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        command.args(["--url", &self.url(), "host", "list"]);
        // Who tells why a test failed does not fail.
        let hosts = child::output(&mut command, &mut self.wait("the list of hosts", LIST))
            .map_or_else(|error| error.to_string(), |output| service::text(&output.stdout));
        let log = self.log();
        let lines: Vec<_> = log.lines().filter(|line| !line.contains(" INFO ")).collect();
        let last = lines[lines.len().saturating_sub(40)..].join("\n");
        format!("{told}\n{hosts}\n{last}")
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.cli(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What a service lists that may be away: then nothing.
    pub fn list(&self, what: &str) -> Option<Vec<Value>> {
        let output = self.cli(&[what, "list"]);
        serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())
    }

    pub fn cli(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assisted"));
        service::output(command.args(["--url", &self.url(), "-o", "json"]).args(args), &self.log_file())
    }

    /// Waits until the service answers.
    pub fn until_ready(&self) {
        self.until_clusters(0);
    }

    /// Waits until there are clusters.
    pub fn until_some_clusters(&self) {
        self.until_clusters(1);
    }

    fn until_clusters(&self, least: usize) {
        let mut wait = self.wait(format!("a service with {least} clusters"), LIMIT);
        loop {
            if self.list("cluster").is_some_and(|listed| listed.len() >= least) {
                return;
            }
            self.go_on(&mut wait);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What may happen but once has happened once, in each cluster of a simulation's report.
    pub fn nothing_is_told_twice(&self, report: &Value) {
        for cluster in report["clusters"].as_array().unwrap() {
            let id = cluster["id"].as_str().unwrap();
            let mut told: BTreeMap<(String, String, String), u32> = BTreeMap::new();
            for event in self.json(&["event", "list", "--cluster", id]).as_array().unwrap() {
                let part = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
                *told.entry((part("name"), part("host_id"), part("message"))).or_default() += 1;
            }
            let of = |name: &str| told.iter().filter(|((known, ..), _)| known == name).collect::<Vec<_>>();
            for name in ["cluster_prepare_installation_started", "cluster_installation_completed"] {
                assert_eq!(of(name).iter().map(|(_, count)| **count).sum::<u32>(), 1, "{name}: {told:#?}");
            }
            let once =
                ["host_install_progress_updated", "cluster_finalizing_stage_updated", "host_bootstrap_set"];
            for name in once {
                assert!(!of(name).is_empty(), "{name}: {told:#?}");
                for (event, count) in of(name) {
                    assert_eq!(*count, 1, "{event:?}");
                }
            }
        }
    }
}

/// A process that ends with the test.
pub struct Process(pub Child);

impl Process {
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.0.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
