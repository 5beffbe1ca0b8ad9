//! `assisted-host ocl node-build`: the builder in the pod of the Job that builds the image of workers on a control plane node (ocl-day1 §B7.1).
//! It tells how far it is in a ConfigMap, out of which the installation's controller tells the service.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use assisted_installer::kube::{Api, KubeError, Kubeconfig};
use assisted_ocl::builder::{Builder, Machine, Progress, lay, read_logs, remove_scratch};
use assisted_ocl::paths::{TOLD_AT, TOLD_PROGRESS};
use assisted_wire::on_cluster_layering::{BuildLocation, Pool};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

/// The Job ends with this one, since the image can't be built.
const FAILED: u8 = 1;
/// The builder couldn't begin: the Job tries again.
const NOT_BEGUN: u8 = 2;
/// The builder was told to end, and another one goes on.
const INTERRUPTED: u8 = 143;
const LOOK: Duration = Duration::from_secs(2);
/// A builder that says nothing for ten minutes counts as lost.
const ALIVE: Duration = Duration::from_secs(30);
/// How long the API may be away when the end is to be told.
const LAST: Duration = Duration::from_secs(15 * 60);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder with what the pod brings
    #[arg(long)]
    given: PathBuf,
    /// Folder with the pod's account
    #[arg(long)]
    account: PathBuf,
    /// Namespace of the ConfigMap
    #[arg(long)]
    namespace: String,
    /// Name of the ConfigMap
    #[arg(long)]
    config_map: String,
    /// Host of the cluster's API
    #[arg(long, env = "KUBERNETES_SERVICE_HOST")]
    api_host: String,
    /// Port of the cluster's API
    #[arg(long, env = "KUBERNETES_SERVICE_PORT")]
    api_port: String,
}

impl Args {
    pub(crate) async fn run(&self, machine: &Machine) -> anyhow::Result<ExitCode> {
        let mut terminate = signal(SignalKind::terminate())?;
        let begun = lay(machine, &self.given)
            .and_then(|()| Builder::new(machine.clone(), BuildLocation::ControlPlane));
        let builder = match begun {
            Ok(builder) => builder,
            Err(error) => {
                warn!(%error, "the builder can't begin");
                return Ok(ExitCode::from(NOT_BEGUN));
            }
        };
        let done = tokio::select! {
            done = Box::pin(builder.run()) => done,
            never = Box::pin(self.follow(machine)) => match never {},
            _ = terminate.recv() => {
                // Its programs died with the future. Whoever goes on finds the state, and makes room again: none is left to a node that
                // goes on without.
                remove_scratch(machine).await;
                return Ok(ExitCode::from(INTERRUPTED));
            }
        };
        let failed = match done {
            Ok(Ok(())) => None,
            Ok(Err(failed)) => Some(failed),
            Err(error) => {
                warn!(%error, "the builder can't begin");
                return Ok(ExitCode::from(NOT_BEGUN));
            }
        };
        self.tell_end(machine).await?;
        let Some(failed) = failed else {
            info!("the image is ready");
            return Ok(ExitCode::SUCCESS);
        };
        // The pod's log is what people find first.
        for (name, text) in read_logs(machine, Pool::Worker).unwrap_or_default() {
            crate::print(&format!("==> {name} <==\n{text}"))?;
        }
        warn!(error = %failed, "the image can't be built");
        Ok(ExitCode::from(FAILED))
    }

    /// Tells what has changed, and from time to time that the builder lives.
    async fn follow(&self, machine: &Machine) -> Infallible {
        let mut told = None;
        let mut last = Instant::now();
        loop {
            sleep(LOOK).await;
            let progress = match Progress::read(machine) {
                Ok(Some(progress)) => progress,
                Ok(None) => continue,
                Err(error) => {
                    warn!(%error, "the builder's progress can't be read");
                    continue;
                }
            };
            if told.as_ref() == Some(&progress) && last.elapsed() < ALIVE {
                continue;
            }
            match self.tell(&progress).await {
                Ok(()) => {
                    told = Some(progress);
                    last = Instant::now();
                }
                Err(error) => warn!(%error, "the builder's progress isn't taken"),
            }
        }
    }

    /// Tells the end until it is taken.
    async fn tell_end(&self, machine: &Machine) -> anyhow::Result<()> {
        let progress = Progress::read(machine)?.context("the builder has left no progress")?;
        let told = async {
            while let Err(error) = self.tell(&progress).await {
                warn!(%error, "the end isn't taken");
                sleep(LOOK).await;
            }
        };
        timeout(LAST, told).await.context("the end isn't taken by the cluster's API")
    }

    async fn tell(&self, progress: &Progress) -> Result<(), KubeError> {
        let account = Kubeconfig::of_account(&self.account, &self.api_host, &self.api_port)?;
        let text = serde_json::to_string(progress).unwrap_or_default();
        let data = BTreeMap::from([(TOLD_PROGRESS, text), (TOLD_AT, Timestamp::now().to_string())]);
        Api::new(&account)?.change_config_map(&self.namespace, &self.config_map, &data).await
    }
}
