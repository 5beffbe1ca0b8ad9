//! The most that works: a cluster is installed on virtual machines, from the discovery image to the kubeconfig. Where there
//! can be none, and for those in a hurry, this machine is discovered, and clusters are installed on simulated hosts.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::run::{programs, target_dir};
use crate::setup;

/// Clusters that are installed: name, shape, control-plane nodes.
const CLUSTERS: [(&str, &str, &str); 2] = [("three-nodes", "compact", "3"), ("single-node", "sno", "1")];

/// Simulated seconds per second: an installation that takes most of an hour is watched for half a minute.
const SPEED: &str = "90";

/// The same when nobody watches.
const SPEED_ONCE: &str = "600";

/// What is installed.
const OPENSHIFT: &str = "4.22";

/// What a pull secret must look like; it opens no registry.
const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"ZGVtbzpkZW1v","email":"demo@example.com"}}}"#;

#[derive(Args)]
pub struct Demo {
    /// Stop when everything has been shown, instead of waiting for Ctrl-C; simulated hosts hurry
    #[arg(long)]
    once: bool,
    /// No virtual machines: discover this machine, and install clusters on simulated hosts
    #[arg(long, conflicts_with = "lab")]
    simulated: bool,
    /// What `assisted lab up` takes, such as: --topology sno --iso minimal
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    lab: Vec<String>,
}

/// A child process that ends with the demo.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Ctrl-C reaches the whole group; this is for every other way out.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

impl Demo {
    /// Shows everything, and waits.
    pub fn run(&self) -> Result<()> {
        // What it installs is for virtual machines and tests; without root the demo goes on as well.
        let complete = setup::tools();
        let programs = programs()?;
        let dir = target_dir()?.join("demo");
        if dir.exists() {
            std::fs::remove_dir_all(&dir).with_context(|| format!("can't empty {}", dir.display()))?;
        }
        std::fs::create_dir_all(&dir)?;
        if self.simulated {
            return self.simulate(&programs, dir);
        }
        match complete.and_then(|()| setup::lab_image(&programs)) {
            Ok(()) => self.install_machines(&programs, &dir),
            Err(missing) => {
                println!("No virtual machines here: {missing:#}");
                self.simulate(&programs, dir)
            }
        }
    }

    /// Becomes the lab, which is ended by Ctrl-C itself.
    fn install_machines(&self, programs: &Path, dir: &Path) -> Result<()> {
        println!(
            "Machines become a cluster: three take minutes with KVM, about twenty without (docs/lab.md)."
        );
        println!("In a hurry: cargo xtask demo --simulated");
        let mut lab = Command::new(programs.join("assisted"));
        lab.args(["lab", "up"]).args(&self.lab);
        if !self.lab.iter().any(|word| word == "--dir" || word.starts_with("--dir=")) {
            lab.arg("--dir").arg(dir.join("lab"));
        }
        if self.once {
            lab.arg("--once");
        }
        Err(lab.exec()).context("can't start the lab")
    }

    /// Discovers this machine, and installs clusters on simulated hosts.
    fn simulate(&self, programs: &Path, dir: PathBuf) -> Result<()> {
        std::fs::write(dir.join("pull-secret.json"), PULL_SECRET)?;
        let (service, url) = serve(programs, &dir)?;
        let cli = Cli { program: programs.join("assisted"), url: url.clone(), dir: dir.clone() };
        heading("A cluster and an infra-env");
        let (cluster, infra_env) = cli.cluster("demo", &[])?;
        cli.show(&["cluster", "show", &cluster])?;

        heading("The agent, on this machine");
        let log = dir.join("agent.log");
        let agent = Running(
            Command::new(programs.join("assisted-host"))
                .args(["agent", "--url", &url, "--infra-env-id", &infra_env, "--agent-version", "demo"])
                .stdin(Stdio::null())
                .stdout(std::fs::File::create(&log)?)
                .stderr(std::fs::File::options().append(true).open(&log)?)
                .spawn()
                .context("can't start the agent")?,
        );
        println!("its log: {}", log.display());
        let host = cli.wait_for_host(&infra_env, Duration::from_secs(60))?;

        heading("The host, and every reason why it can or can't be installed");
        cli.show(&["host", "list", "--infra-env", &infra_env])?;
        cli.show(&["host", "show", &host])?;
        heading("What happened");
        cli.show(&["event", "list", "--cluster", &cluster])?;
        drop(agent);
        for (name, topology, control_plane) in CLUSTERS {
            self.install(&cli, name, topology, control_plane)?;
        }
        println!("\nThe API: {url}  its documentation: {url}/docs");
        println!("Try:     {} --url {url} host list", cli.program.display());
        if !self.once {
            println!("Ctrl-C stops everything.");
            std::io::stdout().flush()?;
            let mut service = service;
            service.0.wait()?;
        }
        Ok(())
    }

    /// Installs a cluster on simulated hosts, and watches it.
    fn install(&self, cli: &Cli, name: &str, topology: &str, control_plane: &str) -> Result<()> {
        heading(&format!("An installation on simulated hosts: {name}"));
        let (cluster, infra_env) = cli.cluster(name, &["--control-plane-count", control_plane])?;
        let simulate =
            ["lab", "simulate", "--topology", topology, "--cluster", &cluster, "--infra-env", &infra_env];
        let speed = if self.once { SPEED_ONCE } else { SPEED };
        println!("$ assisted {} --speed {speed} &", simulate.join(" "));
        let log = std::fs::File::create(cli.dir.join(format!("{name}.log")))?;
        let _hosts = Running(
            cli.command(&simulate)
                .args(["--speed", speed])
                .stdin(Stdio::null())
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
                .context("can't start the simulated hosts")?,
        );
        cli.show(&["cluster", "watch", name, "--until", "installed"])?;
        cli.show(&["cluster", "download", name, "kubeconfig", "--to", &format!("kubeconfig-{name}")])
    }
}

/// Starts the service on a free port; gives its address once it is ready.
fn serve(programs: &Path, dir: &Path) -> Result<(Running, String)> {
    heading("The service, on SQLite");
    let mut child = Command::new(programs.join("assisted"))
        .args(["serve", "--listen", "127.0.0.1:0", "--generator", "simulation", "--data-dir"])
        .arg(dir.join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(dir.join("service.log"))?)
        .spawn()
        .context("can't start the service")?;
    let stdout = child.stdout.take().context("the service has no output")?;
    let running = Running(child);
    // The first line names the address: the port was free for the service to choose.
    let line = BufReader::new(stdout).lines().next().context("the service ended before it was ready")??;
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .with_context(|| format!("no address in: {line}"))?;
    println!("{line}\nits log: {}", dir.join("service.log").display());
    Ok((running, url.trim_end_matches('/').to_owned()))
}

/// The command line of the product, as a person uses it.
struct Cli {
    program: PathBuf,
    url: String,
    dir: PathBuf,
}

impl Cli {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--url", &self.url]).args(args).current_dir(&self.dir);
        command
    }

    fn show(&self, args: &[&str]) -> Result<()> {
        println!("\n$ assisted {}", args.join(" "));
        if !self.command(args).status()?.success() {
            bail!("assisted {} failed", args.join(" "));
        }
        Ok(())
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let output = self.command(args).args(["-o", "json"]).output()?;
        if !output.status.success() {
            bail!("assisted {} failed: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn id(&self, args: &[&str]) -> Result<String> {
        println!("$ assisted {}", args.join(" "));
        let created = self.json(args)?;
        created["id"].as_str().map(str::to_owned).with_context(|| format!("no id in {created}"))
    }

    /// Creates a cluster and an infra-env for its hosts: their ids.
    fn cluster(&self, name: &str, more: &[&str]) -> Result<(String, String)> {
        let secret = ["--pull-secret-file", "pull-secret.json"];
        let create =
            ["cluster", "create", name, "--base-domain", "example.com", "--openshift-version", OPENSHIFT];
        let cluster = self.id(&[&create, more, &secret].concat())?;
        let infra_env =
            self.id(&[&["infra-env", "create", name, "--cluster", &cluster], secret.as_slice()].concat())?;
        Ok((cluster, infra_env))
    }

    /// Waits until a host has been judged.
    fn wait_for_host(&self, infra_env: &str, limit: Duration) -> Result<String> {
        let started = Instant::now();
        let mut shown = String::new();
        loop {
            let hosts = self.json(&["host", "list", "--infra-env", infra_env])?;
            if let Some(host) = hosts.as_array().and_then(|hosts| hosts.first()) {
                let status = host["status"].as_str().unwrap_or_default();
                if status != shown {
                    println!(
                        "{:5.1} s  {status}: {}",
                        started.elapsed().as_secs_f64(),
                        host["status_info"].as_str().unwrap_or_default()
                    );
                    shown = status.to_owned();
                }
                if status != "discovering" {
                    return host["id"].as_str().map(str::to_owned).context("a host without an id");
                }
            }
            if started.elapsed() > limit {
                bail!(
                    "no host was judged within {} s: see the logs in {}",
                    limit.as_secs(),
                    self.dir.display()
                );
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn heading(text: &str) {
    println!("\n=== {text}");
}
