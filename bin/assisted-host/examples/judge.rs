//! What a program for hosts must do before it goes onto one, of whatever architecture: it needs nothing beside it, reads
//! captured machines as the tests of `hostinfo` have them, and is discovered by a service. `cargo xtask dist` asks.
//!
//! Arguments: the service's program, and that for hosts. An emulator may stand before the latter. Prints figures as JSON.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use assisted_hostinfo::capture::Tree;
use assisted_testkit::{Server, tied};
use serde_json::{Value, json};

/// How long a host may take until it is discovered; under emulation, on a busy computer.
const DISCOVERY: Duration = Duration::from_secs(120);

const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"ZGlzdDpkaXN0","email":"dist@example.com"}}}"#;

/// Inventories that are timed.
const INVENTORIES: usize = 21;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (service, host) = match arguments.as_slice() {
        [service, program] => (service, Host { emulator: None, program }),
        [service, emulator, program] => (service, Host { emulator: Some(emulator), program }),
        _ => bail!("which programs: that of the service, an emulator or none, that for hosts"),
    };
    let dir = tempfile::tempdir()?;
    host.is_static()?;
    let version = host.output(&["version"])?;
    ensure!(
        version.trim() == concat!("assisted-host ", env!("CARGO_PKG_VERSION")),
        "it says it is {version:?}"
    );
    host.reads_captured_machines(dir.path())?;
    println!("{}", Service::start(service, dir.path())?.discovers(&host)?);
    Ok(())
}

struct Host<'a> {
    /// What runs the program here; `None`: the machine itself.
    emulator: Option<&'a Path>,
    program: &'a Path,
}

impl Host<'_> {
    fn command(&self) -> Command {
        match self.emulator {
            Some(emulator) => {
                let mut command = tied(emulator);
                command.arg(self.program);
                command
            }
            None => tied(self.program),
        }
    }

    fn reads_captured_machines(&self, dir: &Path) -> Result<()> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/hostinfo/tests/fixtures");
        let mut read = 0;
        for entry in fs::read_dir(&fixtures)? {
            let from = entry?.path();
            let to = dir.join("machines").join(from.file_name().context("no name")?);
            fs::create_dir_all(&to)?;
            fs::read_to_string(from.join("tree.txt"))?.parse::<Tree>()?.unpack(&to)?;
            let expected: Value = serde_json::from_slice(&fs::read(from.join("inventory.json"))?)?;
            let machine = to.display().to_string();
            let found = self.output(&["inventory", "--root", &machine, "--with-journal-logging=false"])?;
            let found: Value = serde_json::from_str(&found).with_context(|| format!("{machine}: {found}"))?;
            ensure!(found == expected, "{machine} is read as {found}");
            read += 1;
        }
        ensure!(read > 0, "no captured machines in {}", fixtures.display());
        Ok(())
    }

    /// How long this machine's inventory takes: the median.
    fn inventory_time(&self) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..INVENTORIES {
            let started = Instant::now();
            self.output(&["inventory", "--with-journal-logging=false"])?;
            times.push(started.elapsed());
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }

    fn output(&self, args: &[&str]) -> Result<String> {
        let output = self.command().args(args).output().context("it can't be run")?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "assisted-host {} ({}): {told}", args.join(" "), output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    /// No interpreter stands in it: nobody else has a part in loading it.
    fn is_static(&self) -> Result<()> {
        let output = Command::new("readelf").args(["--wide", "--program-headers"]).arg(self.program).output();
        let output = output.context("can't run readelf")?;
        ensure!(output.status.success(), "it is no program: {}", String::from_utf8_lossy(&output.stderr));
        ensure!(!String::from_utf8_lossy(&output.stdout).contains("INTERP"), "it is linked dynamically");
        Ok(())
    }
}

/// A service that the programs report to.
struct Service {
    server: Server,
    program: PathBuf,
    dir: PathBuf,
}

/// An agent, stopped with its test.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        // Fails only when it has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Service {
    fn start(program: &Path, dir: &Path) -> Result<Self> {
        fs::write(dir.join("pull-secret.json"), PULL_SECRET)?;
        let server = Server::start(program, dir, |_| {})?;
        Ok(Self { server, program: program.to_owned(), dir: dir.to_owned() })
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let mut command = Command::new(&self.program);
        command.args(["--url", &self.server.url()]).args(args).args(["-o", "json"]).current_dir(&self.dir);
        let output = command.output()?;
        if !output.status.success() {
            bail!("assisted {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Lets a program register this machine and tell its hardware; what that took.
    fn discovers(&self, host: &Host<'_>) -> Result<Value> {
        let create = ["infra-env", "create", "hosts", "--pull-secret-file", "pull-secret.json"];
        let created = self.json(&create)?;
        let infra_env = created["id"].as_str().with_context(|| format!("no id in {created}"))?;
        let log = self.dir.join("agent.log");
        let mut command = host.command();
        // By name: a static program must find it, too.
        let url = format!("http://localhost:{}", self.server.address().port());
        command.args(["agent", "--url", &url, "--infra-env-id", infra_env, "--agent-version", "dist"]);
        command.args(["--with-journal-logging=false", "--interval", "1"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&log)?);
        let started = Instant::now();
        let agent = Agent(command.spawn().context("it can't be run")?);
        while started.elapsed() < DISCOVERY {
            let hosts = self.json(&["host", "list", "--infra-env", infra_env])?;
            let told = |host: &Value| host["inventory"].as_str().is_some_and(|text| !text.is_empty());
            if hosts.as_array().is_some_and(|hosts| hosts.iter().any(told)) {
                let discovered = started.elapsed().as_secs_f64();
                if host.emulator.is_some() {
                    return Ok(json!({"discovered_s": discovered}));
                }
                let resident = resident(agent.0.id())?;
                let inventory = host.inventory_time()?.as_secs_f64();
                return Ok(
                    json!({"discovered_s": discovered, "resident_bytes": resident, "inventory_s": inventory}),
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = fs::read_to_string(log).unwrap_or_default();
        bail!(
            "no host within {} s; the agent: {log}\nthe service: {}",
            DISCOVERY.as_secs(),
            self.server.log()
        )
    }
}

/// Memory that a process holds, in bytes.
fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("it has ended")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kib * 1024)
}
