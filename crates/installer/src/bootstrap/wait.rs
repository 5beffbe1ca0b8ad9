//! What this host waits for, once its disk is written, before it becomes a control-plane host like the others
//! (installer-and-controller §A7). None of it has a limit here: how long a stage may take is the service's to say.

use std::time::Instant;

use assisted_wire::host::{HostRole, HostStage};
use tracing::{info, warn};

use super::{Bootstrap, DONE, units};
use crate::error::InstallError;
use crate::kube::{Kube, KubeError};

/// Between two polls of anything, in seconds: what is asked is on this host, or beside it.
const INTERVAL: u64 = 1;
/// Between two polls of workers where the service runs on this host, in seconds.
const WORKER_INTERVAL: u64 = 30;
/// Between two uploads of the controller's log, in polls.
const POLLS_PER_UPLOAD: u64 = 120;
const MASTERS: &str = "node-role.kubernetes.io/master";
/// The event by which the controller says that it is there.
const READY: &str = "AssistedControllerIsReady";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";

impl Bootstrap<'_> {
    /// Waits until the cluster stands without this host; since when its etcd does.
    pub(crate) async fn hand_over(&self) -> Result<Instant, InstallError> {
        let report = async |stage, info| self.service.report(stage, info).await;
        report(HostStage::WaitingForControlPlane, "Waiting for bootstrap node preparation").await;
        self.reload_resolver()?;
        let kube = self.kube()?;
        report(HostStage::WaitingForControlPlane, "Waiting for masters to join bootstrap control plane")
            .await;
        self.await_nodes(&kube).await?;
        self.await_bootkube().await;
        units::log_status("bootkube.service", self.host).await;
        report(HostStage::WaitingForBootkube, "waiting for ETCD bootstrap to be complete").await;
        self.await_etcd().await;
        let etcd_stands_alone = Instant::now();
        report(HostStage::WaitingForController, "waiting for controller pod ready event").await;
        self.await_controller(&kube).await;
        if self.is_by_hosts(&kube).await {
            self.await_workers().await;
        }
        self.await_machine_configs(&kube).await;
        Ok(etcd_stands_alone)
    }

    /// Waits until the temporary control plane has made the cluster's own.
    pub(super) async fn await_bootkube(&self) {
        self.service.report(HostStage::WaitingForBootkube, "").await;
        while self.config.dry_run.is_none() && !self.host.exists(DONE) {
            self.config.intervals.pause(INTERVAL).await;
        }
    }

    /// The unit ends when etcd runs without this host. Asked about a unit that has ended, the tool fails; its word counts.
    async fn await_etcd(&self) {
        while self.config.dry_run.is_none() {
            match self.host.ask("systemctl", &["is-active", "progress.service"]).await.as_deref() {
                Ok("inactive") => return,
                Ok(state) => info!(state, "waiting for etcd"),
                Err(error) => warn!(%error, "waiting for etcd"),
            }
            self.config.intervals.pause(INTERVAL).await;
        }
    }

    async fn await_controller(&self, kube: &Kube) {
        let mut polls = 0;
        loop {
            match kube.has_event(READY).await {
                Ok(true) => break,
                Ok(false) => info!("waiting for the controller"),
                Err(error) => warn!(%error, "waiting for the controller"),
            }
            polls += 1;
            if polls % POLLS_PER_UPLOAD == 0 {
                self.upload_controller_logs(kube).await;
            }
            self.config.intervals.pause(INTERVAL).await;
        }
        self.service.expect_cluster_logs().await;
        self.upload_controller_logs(kube).await;
    }

    /// Where the service runs on this host, it can't restart while a worker still needs it.
    async fn await_workers(&self) {
        loop {
            match self.service.stages_of(HostRole::Worker).await {
                Ok(stages) if !stages.iter().any(|stage| needs_service(*stage)) => return,
                Ok(_) => info!("waiting for workers"),
                Err(error) => warn!(%error, "waiting for workers"),
            }
            self.config.intervals.pause(WORKER_INTERVAL).await;
        }
    }

    /// This host will get the machine config that the others have: they must agree on one.
    async fn await_machine_configs(&self, kube: &Kube) {
        loop {
            match machine_configs_agree(kube).await {
                Ok(true) => return,
                Ok(false) => info!("waiting for machine configs"),
                Err(error) => warn!(%error, "waiting for machine configs"),
            }
            self.config.intervals.pause(INTERVAL).await;
        }
    }
}

/// Whether a worker at this stage still gets something from the service.
fn needs_service(stage: Option<HostStage>) -> bool {
    use HostStage::{Installing, StartingInstallation, WaitingForControlPlane, WritingImageToDisk};
    matches!(stage, Some(StartingInstallation | Installing | WritingImageToDisk | WaitingForControlPlane))
}

async fn machine_configs_agree(kube: &Kube) -> Result<bool, KubeError> {
    let nodes = kube.nodes(MASTERS).await?;
    let mut wanted = None;
    for node in &nodes {
        let (Some(current), Some(desired)) = (node.annotation(CURRENT), node.annotation(DESIRED)) else {
            return Ok(false);
        };
        if *wanted.get_or_insert(desired) != desired {
            return Ok(false);
        }
        for config in [current, desired] {
            if !kube.has_machine_config(config).await? {
                return Ok(false);
            }
        }
    }
    Ok(wanted.is_some())
}
