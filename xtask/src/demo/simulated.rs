//! What works without virtual machines: this machine is discovered, and clusters are installed on simulated hosts.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use assisted_lab_tools::wait::Wait;
use assisted_lab_tools::wait::child::finish;
use serde_json::Value;

use super::background::Background;
use crate::run::tied;
use crate::ui;

/// A cluster that is installed.
struct Shape {
    name: &'static str,
    topology: &'static str,
    control_plane: &'static str,
}

const FIRST: Shape = Shape { name: "three-nodes", topology: "compact", control_plane: "3" };
const SECOND: Shape = Shape { name: "single-node", topology: "sno", control_plane: "1" };

/// Simulated seconds per second: an installation that takes most of an hour is watched for half a minute.
const SPEED: &str = "90";

/// The same when nobody watches.
const SPEED_ONCE: &str = "600";

/// What is installed.
const OPENSHIFT: &str = "4.22";

/// How long the service may take to start, a host to be judged, and any other command.
const START: Duration = Duration::from_secs(60);
const JUDGED: Duration = Duration::from_secs(60);
const COMMAND: Duration = Duration::from_secs(60);
/// How long a program may take to end.
const END: Duration = Duration::from_secs(30);
/// How long an installation may take; a hurried one takes seconds.
const INSTALLATION: Duration = Duration::from_secs(10 * 60);

/// What a pull secret must look like; it opens no registry.
const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"ZGVtbzpkZW1v","email":"demo@example.com"}}}"#;

/// A child process that ends with the demo.
struct Running(Child);

impl Running {
    /// What it tells comes behind what the log has from an earlier one.
    fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let told = OpenOptions::new().create(true).append(true).open(log);
        let told = told.with_context(|| format!("can't write {}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(told.try_clone()?).stderr(told).spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ctrl-C reaches the whole group; this is for every other way out.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let mut wait = Wait::new("the end of what was shown", "what it tells in its log", END);
        // After that time it is killed.
        let _ = finish(&mut self.0, &mut wait, || {});
    }
}

/// What has been shown; its service runs until this is dropped.
pub struct Simulated {
    service: Running,
    url: String,
    cluster: String,
    infra_env: String,
}

impl Simulated {
    /// Shows what takes the service and simulated hosts alone: a cluster that lacks hosts, and one that is installed; hosts hurry when
    /// nobody watches.
    pub fn begin(programs: &Path, dir: &Path, hurry: bool, background: &RefCell<Background>) -> Result<Self> {
        std::fs::write(dir.join("pull-secret.json"), PULL_SECRET)?;
        heading("The service, on SQLite");
        let (service, url) = serve(programs, dir, "127.0.0.1:0", background)?;
        let cli =
            Cli { program: programs.join("assisted"), url: url.clone(), dir: dir.to_owned(), background };
        heading("A cluster and an infra-env");
        let (cluster, infra_env) = cli.cluster("demo", &[])?;
        cli.show(&["cluster", "show", &cluster])?;
        install(&cli, FIRST, hurry)?;
        Ok(Self { service, url, cluster, infra_env })
    }

    /// Has the program that has been built meanwhile, which has all that it can, take the place of the first one.
    fn restart(self, programs: &Path, dir: &Path, background: &RefCell<Background>) -> Result<Self> {
        heading("The service goes on as the whole program, where the first one ended");
        let Self { service, url, cluster, infra_env } = self;
        drop(service);
        let listen = url.strip_prefix("http://").context("the service told no address")?;
        let (service, url) = serve(programs, dir, listen, background)?;
        Ok(Self { service, url, cluster, infra_env })
    }

    /// Discovers this machine, and installs another cluster; begins with what was not shown yet.
    pub fn show(
        begun: Option<Self>,
        programs: &Path,
        dir: &Path,
        hurry: bool,
        background: &RefCell<Background>,
    ) -> Result<Self> {
        let shown = match begun {
            Some(begun) => begun.restart(programs, dir, background)?,
            None => Self::begin(programs, dir, hurry, background)?,
        };
        let Self { url, cluster, infra_env, .. } = &shown;
        let cli =
            Cli { program: programs.join("assisted"), url: url.clone(), dir: dir.to_owned(), background };
        heading("The agent, on this machine");
        let log = dir.join("agent.log");
        let arguments = ["agent", "--url", &cli.url, "--infra-env-id", infra_env, "--agent-version", "demo"];
        let agent = Running::start(tied(programs.join("assisted-host")).args(arguments), &log)
            .context("can't start the agent")?;
        println!("its log: {}", log.display());
        let host = cli.wait_for_host(infra_env, JUDGED)?;

        heading("The host, and every reason why it can or can't be installed");
        cli.show(&["host", "list", "--infra-env", infra_env])?;
        cli.show(&["host", "show", &host])?;
        heading("What happened");
        cli.show(&["event", "list", "--cluster", cluster])?;
        drop(agent);
        install(&cli, SECOND, hurry)?;
        let missing = if ui::is_built()? { "" } else { " says how to get it (cargo xtask ui)" };
        println!("\nThe UI:  {}{missing}", cli.url);
        println!("The API: {0}  its documentation: {0}/docs", cli.url);
        println!("Try:     {} --url {} host list", cli.program.display(), cli.url);
        std::io::stdout().flush()?;
        Ok(shown)
    }

    /// Waits until somebody ends it.
    pub fn wait(mut self) -> Result<()> {
        println!("Ctrl-C stops everything.");
        std::io::stdout().flush()?;
        let status = self.service.0.wait()?;
        bail!("the service ended ({status})")
    }
}

/// Installs a cluster on simulated hosts, and watches it.
fn install(cli: &Cli<'_>, shape: Shape, hurry: bool) -> Result<()> {
    let Shape { name, topology, control_plane } = shape;
    let speed = if hurry { SPEED_ONCE } else { SPEED };
    heading(&format!("An installation on simulated hosts: {name}"));
    let (cluster, infra_env) = cli.cluster(name, &["--control-plane-count", control_plane])?;
    let simulate = ["simulate", "--topology", topology, "--cluster", &cluster, "--infra-env", &infra_env];
    println!("$ assisted-lab {} --speed {speed} &", simulate.join(" "));
    let mut command = cli.program(&cli.program.with_file_name("assisted-lab"), &simulate);
    let _hosts = Running::start(command.args(["--speed", speed]), &cli.dir.join(format!("{name}.log")))
        .context("can't start the simulated hosts")?;
    cli.watch(name)?;
    cli.show(&["cluster", "download", name, "kubeconfig", "--to", &format!("kubeconfig-{name}")])
}

/// Starts the service where it is told to listen; gives its address once it is ready.
fn serve(
    programs: &Path,
    dir: &Path,
    listen: &str,
    background: &RefCell<Background>,
) -> Result<(Running, String)> {
    let log = dir.join("service.log");
    let earlier = std::fs::read_to_string(&log).unwrap_or_default().len();
    let arguments = ["serve", "--listen", listen, "--generator", "simulation", "--data-dir"];
    let mut command = tied(programs.join("assisted"));
    let mut service = Running::start(command.args(arguments).arg(dir.join("data")), &log)
        .context("can't start the service")?;
    let mut wait = Wait::new("the service", log.display(), START);
    loop {
        // A line names the address: the port was free for the service to choose.
        let all = std::fs::read_to_string(&log)?;
        let told = all.get(earlier..).unwrap_or_default();
        if let Some(line) = told.lines().find(|line| line.contains("listening on http://")) {
            let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap_or_default();
            println!("{line}\nits log: {}", log.display());
            return Ok((service, url.trim_end_matches('/').to_owned()));
        }
        if let Some(status) = service.0.try_wait()? {
            bail!("the service ended ({status}) before it was ready:\n{told}");
        }
        background.borrow_mut().advance(true);
        wait.pause(Duration::from_millis(50))?;
    }
}

/// The command line of the product, as a person uses it.
struct Cli<'a> {
    program: PathBuf,
    url: String,
    dir: PathBuf,
    background: &'a RefCell<Background>,
}

impl Cli<'_> {
    fn command(&self, args: &[&str]) -> Command {
        self.program(&self.program, args)
    }

    /// A program that is told where the service is.
    fn program(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = tied(program);
        command.args(["--url", &self.url]).args(args).current_dir(&self.dir);
        command
    }

    fn show(&self, args: &[&str]) -> Result<()> {
        println!("\n$ assisted {}", args.join(" "));
        self.finish(self.command(args), args, self.wait_for(args, COMMAND))
    }

    /// Watches an installation to its end. What is watched is drawn over and over: nobody else may write there.
    fn watch(&self, name: &str) -> Result<()> {
        let args = ["cluster", "watch", name, "--until", "installed"];
        println!("\n$ assisted {}", args.join(" "));
        self.finish(self.command(&args), &args, self.wait_for(&args, INSTALLATION).quietly())
    }

    /// The wait for the end of a command.
    fn wait_for(&self, args: &[&str], limit: Duration) -> Wait {
        Wait::new(format!("the end of assisted {}", args.join(" ")), self.dir.display(), limit)
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        let answer = self.dir.join("answer.json");
        let mut command = self.command(args);
        command.args(["-o", "json"]).stdout(File::create(&answer)?);
        self.finish(command, args, self.wait_for(args, COMMAND))?;
        Ok(serde_json::from_slice(&std::fs::read(&answer)?)?)
    }

    fn finish(&self, mut command: Command, args: &[&str], mut wait: Wait) -> Result<()> {
        let mut child = command.stdin(Stdio::null()).spawn().context("can't start assisted")?;
        let status = finish(&mut child, &mut wait, || self.background.borrow_mut().advance(false))?;
        if !status.success() {
            bail!("assisted {} failed", args.join(" "));
        }
        Ok(())
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
        let (started, mut wait) = (Instant::now(), Wait::new("the host", self.dir.display(), limit));
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
            self.background.borrow_mut().advance(true);
            wait.pause(Duration::from_millis(200))?;
        }
    }
}

fn heading(text: &str) {
    println!("\n=== {text}");
}
