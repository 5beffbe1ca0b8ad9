//! The core of Cluster API: its controllers on a Kubernetes API, with the definitions of their kinds and their webhooks.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use assisted_lab_tools::cluster_api::{self, Core, DEFINITIONS, WEBHOOKS};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;

use super::{Kube, START, free_addresses, supervised};
use crate::supervised::{Keep, Supervised};
use crate::{Authority, Error};

/// The running core, stopped when it is dropped.
#[derive(Debug)]
pub struct ClusterApi {
    core: Core,
    manager: Option<Supervised>,
    dir: tempfile::TempDir,
    /// An administrator's.
    kubeconfig: std::path::PathBuf,
    /// The one that the controllers have.
    own: std::path::PathBuf,
    /// Where the webhooks are, and the health.
    addresses: [std::net::SocketAddr; 2],
}

impl ClusterApi {
    /// Installs the core on an API server, and waits until its webhooks answer.
    ///
    /// # Errors
    /// It has not been built yet, or does not get ready.
    pub fn start(kube: &Kube, core: Core) -> Result<Self, Error> {
        let (definitions, webhooks) = (made(core, DEFINITIONS)?, made(core, WEBHOOKS)?);
        let dir = tempfile::Builder::new().prefix("assisted-cluster-api-").tempdir()?;
        let [webhook, health] = free_addresses()?;
        let authority = Authority::new("cluster-api webhooks")?;
        authority.certificate(dir.path(), &["127.0.0.1"], (2020, 2090))?;
        apply(kube, &definitions)?;
        run(kube.kubectl().args(["wait", "--for=condition=Established", "--filename"]).arg(&definitions))?;
        run(kube.kubectl().args(cluster_api::label()))?;
        let bundle = STANDARD.encode(&authority.pem);
        let configurations = dir.path().join("webhooks.yaml");
        let asked = cluster_api::webhooks_at(&std::fs::read_to_string(webhooks)?, webhook, &bundle);
        std::fs::write(&configurations, asked)?;
        let kubeconfig = kube.kubeconfig();
        let own = kubeconfig.clone();
        let mut running = Self { core, manager: None, dir, kubeconfig, own, addresses: [webhook, health] };
        running.begin()?;
        apply(kube, &configurations)?;
        Ok(running)
    }

    /// Starts the controllers again after [`ClusterApi::stop`], and waits until their webhooks listen.
    ///
    /// # Errors
    /// They don't get ready.
    pub fn begin(&mut self) -> Result<(), Error> {
        let program = made(self.core, "cluster-api")?;
        let log = self.dir.path().join("log");
        let keep = Keep { signal: Signal::KILL, log: &log, remove: None };
        let [webhook, health] = self.addresses;
        let args = cluster_api::arguments(&self.own, self.dir.path(), webhook, health);
        self.manager = Some(supervised(&keep, &program, &args)?);
        let deadline = std::time::Instant::now() + START;
        while std::net::TcpStream::connect(webhook).is_err() {
            if std::time::Instant::now() > deadline {
                return Err(Error::Silent { log: self.log() });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Gives the controllers another way to the API, for when they are started again.
    ///
    /// # Errors
    /// The kubeconfig can't be written.
    pub fn connect_by(&mut self, kubeconfig: &str) -> Result<(), Error> {
        self.own = self.dir.path().join("kubeconfig");
        Ok(std::fs::write(&self.own, kubeconfig)?)
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
        let mut command = Command::new(made(self.core, "clusterctl")?);
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
fn made(core: Core, name: &str) -> Result<std::path::PathBuf, Error> {
    core.find(name).map_err(|_| Error::NotInstalled {
        program: "the core of Cluster API (`cargo xtask setup cluster-api`)",
    })
}

fn apply(kube: &Kube, path: &Path) -> Result<(), Error> {
    run(kube.kubectl().args(["apply", "--server-side", "--filename"]).arg(path))
}
