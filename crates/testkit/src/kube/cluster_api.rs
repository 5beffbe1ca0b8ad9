//! The core of Cluster API: its controllers on a Kubernetes API, with the definitions of their kinds and their webhooks.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::cluster_api::{DEFINITIONS, WEBHOOKS, find};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;

use super::{Kube, START, free_addresses, supervised};
use crate::supervised::{Keep, Supervised};
use crate::{Authority, Error};

/// Where the webhooks are asked in the published manifests: what comes before a path.
const SERVICE: &str = "    service:\n      name: webhook-service\n      namespace: system\n      path: ";

/// The running core, stopped when it is dropped.
#[derive(Debug)]
pub struct ClusterApi {
    manager: Option<Supervised>,
    dir: tempfile::TempDir,
    kubeconfig: std::path::PathBuf,
    args: Vec<String>,
    address: std::net::SocketAddr,
}

impl ClusterApi {
    /// Installs the core on an API server, and waits until its webhooks answer.
    ///
    /// # Errors
    /// It has not been built yet, or does not get ready.
    pub fn start(kube: &Kube) -> Result<Self, Error> {
        let (definitions, webhooks) = (made(DEFINITIONS)?, made(WEBHOOKS)?);
        let dir = tempfile::Builder::new().prefix("assisted-cluster-api-").tempdir()?;
        let [webhook, health] = free_addresses()?;
        let authority = Authority::new("cluster-api webhooks")?;
        authority.certificate(dir.path(), &["127.0.0.1"], (2020, 2090))?;
        // Labels tell the core which version of a kind fits its contract; the published manifests get them from a later step.
        apply(kube, &definitions)?;
        run(kube.kubectl().args(["wait", "--for=condition=Established", "--filename"]).arg(&definitions))?;
        label(kube)?;
        let bundle = STANDARD.encode(&authority.pem);
        let asked = format!("    caBundle: {bundle}\n    url: https://{webhook}");
        let configurations = dir.path().join("webhooks.yaml");
        std::fs::write(&configurations, std::fs::read_to_string(webhooks)?.replace(SERVICE, &asked))?;
        let kubeconfig = kube.kubeconfig();
        let args = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--webhook-port={}", webhook.port()),
            format!("--webhook-cert-dir={}", dir.path().display()),
            "--diagnostics-address=0".to_owned(),
            "--insecure-diagnostics".to_owned(),
            format!("--health-addr={health}"),
            "--feature-gates=ClusterTopology=true".to_owned(),
        ];
        let mut core = Self { manager: None, dir, kubeconfig, args, address: webhook };
        core.begin()?;
        apply(kube, &configurations)?;
        Ok(core)
    }

    /// Starts the controllers again after [`ClusterApi::stop`], and waits until their webhooks listen.
    ///
    /// # Errors
    /// They don't get ready.
    pub fn begin(&mut self) -> Result<(), Error> {
        let program = made("cluster-api")?;
        let log = self.dir.path().join("log");
        let keep = Keep { signal: Signal::KILL, log: &log, remove: None };
        self.manager = Some(supervised(&keep, &program, &self.args)?);
        let deadline = std::time::Instant::now() + START;
        while std::net::TcpStream::connect(self.address).is_err() {
            if std::time::Instant::now() > deadline {
                return Err(Error::Silent { log: self.log() });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops the controllers, as a crash would.
    pub fn stop(&mut self) {
        self.manager = None;
    }

    /// What they have logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// `clusterctl`, with the rights of an administrator.
    ///
    /// # Errors
    /// It has not been built yet.
    pub fn clusterctl(&self) -> Result<Command, Error> {
        let mut command = Command::new(made("clusterctl")?);
        // No look for newer versions, and no settings but those of the test.
        command.env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true").env("XDG_CONFIG_HOME", self.dir.path());
        command.env("KUBECONFIG", &self.kubeconfig);
        Ok(command)
    }
}

fn run(command: &mut Command) -> Result<(), Error> {
    const PROGRAM: &str = "kubectl";
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|source| Error::Run { program: PROGRAM, source })?;
    if output.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::Failed { program: PROGRAM, output })
}

/// Something of the core that has been made.
fn made(name: &str) -> Result<std::path::PathBuf, Error> {
    find(name).map_err(|_| Error::NotInstalled {
        program: "the core of Cluster API (`cargo xtask setup cluster-api`)",
    })
}

fn apply(kube: &Kube, path: &Path) -> Result<(), Error> {
    run(kube.kubectl().args(["apply", "--server-side", "--filename"]).arg(path))
}

/// The kinds of the core are of the newest contract.
fn label(kube: &Kube) -> Result<(), Error> {
    let kinds = [
        "clusters",
        "machines",
        "machinedeployments",
        "machinesets",
        "machinehealthchecks",
        "clusterclasses",
    ];
    let names = kinds.map(|plural| format!("customresourcedefinition/{plural}.cluster.x-k8s.io"));
    run(kube
        .kubectl()
        .arg("label")
        .args(&names)
        .args(["cluster.x-k8s.io/v1beta1=v1beta1", "cluster.x-k8s.io/v1beta2=v1beta2"]))
}
