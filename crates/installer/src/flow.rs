//! The way of each role from a running discovery image to a restart from the disk (installer-and-controller §A6).

use std::path::Path;

use assisted_client::BuildError;
use assisted_wire::cluster::ClusterKind;
use assisted_wire::host::{HostRole, HostStage};
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use crate::attempts::attempts;
use crate::bootstrap::Bootstrap;
use crate::config::Config;
use crate::disk;
use crate::error::InstallError;
use crate::host::{Attempt, AttemptError, Host, INSTALL_DIR};
use crate::ignition;
use crate::layering::{self, Layered};
use crate::service::Service;

const POLL_INTERVAL: u64 = 5;
/// Control-plane hosts that must be done before a worker restarts: they serve its config.
const DONE_FOR_WORKERS: usize = 2;
const WRITES: u32 = 3;
/// Looks for the machine config: for twenty minutes.
const MACHINE_CONFIG_ATTEMPTS: u32 = 240;

/// An installation of one host.
#[derive(Debug)]
pub struct Installer {
    pub(crate) config: Config,
    pub(crate) host: Host,
    pub(crate) service: Service,
}

impl Installer {
    /// # Errors
    /// When the service's address, the token or the certificates can't be used.
    pub fn new(config: Config, host: Host) -> Result<Self, BuildError> {
        let service = Service::new(&config)?;
        Ok(Self { config, host, service })
    }

    /// Installs, to the moment when the machine restarts. What makes it impossible is reported, too. Run again after it was
    /// killed, it begins anew, but for what must not be done twice.
    ///
    /// # Errors
    /// When the host can't be installed.
    pub async fn run(&self) -> Result<(), InstallError> {
        let done = self.install().await;
        if let Err(failure) = &done {
            error!(error = %failure, "the installation failed");
            if !matches!(failure, InstallError::Attempt(AttemptError::Running)) {
                self.stopped().await;
            }
            // Another one that runs tells of itself.
            if !matches!(failure, InstallError::Attempt(AttemptError::Running)) {
                self.service.report(HostStage::Failed, &failure.to_string()).await;
            }
        }
        done
    }

    /// Ends what may go on by itself when an installation has failed, or is given up.
    pub async fn stopped(&self) {
        if self.config.dry_run.is_none() {
            layering::end(&self.host).await;
        }
    }

    async fn install(&self) -> Result<(), InstallError> {
        let config = &self.config;
        let mut attempt = Attempt::begin(&self.host, config.cluster_id, config.host_id)?;
        if attempt.restarting() {
            info!("installed already: only the restart is left");
            return self.restart(&mut attempt, None).await;
        }
        let dry = config.dry_run.is_some();
        let args = installer_args(&config.installer_args)?;
        if !dry {
            self.host.end_leftover_writers().await;
        }
        if !config.keeps_disk() && !dry {
            disk::format(config.disks_to_format.iter().map(std::path::PathBuf::as_path), &self.host);
        }
        self.service.report(HostStage::StartingInstallation, config.role.as_str()).await;
        let device = self.host.resolve(&config.boot_device);
        if !dry && !config.keeps_disk() {
            self.host.unmount_leftovers().await;
            self.clean(&device).await;
        }
        let layered = Layered::find(config, &self.host, &self.service).await?;
        let layered = layered.as_ref();
        let bootstrap = Bootstrap { config, host: &self.host, service: &self.service };
        let builds = config.is_bootstrap() || config.is_single_node();
        if config.is_bootstrap() {
            self.start_bootstrap(&bootstrap, &mut attempt).await?;
        }
        let watcher = async {
            if config.is_bootstrap() {
                bootstrap.watch_machine_config_server().await;
            }
            std::future::pending::<()>().await;
        };
        let forward = async {
            match layered.filter(|_| builds) {
                Some(layered) => layered.forward().await,
                None => std::future::pending().await,
            }
        };
        let bootstrap = config.is_bootstrap().then_some(&bootstrap);
        tokio::select! {
            done = self.go_on(&device, &args, bootstrap, layered, &mut attempt) => done,
            () = watcher => Ok(()),
            never = forward => match never {},
        }
    }

    async fn clean(&self, device: &Path) {
        if self.config.skip_disk_cleanup {
            return;
        }
        if let Err(error) = disk::clean(device, &self.host).await {
            warn!("failed to prepare install device {}, err {error}", device.display());
            let info = format!(
                "Could not clean install device {}. The installation will continue. If the installation fails, \
                 clean the disk and try again",
                device.display()
            );
            self.service.report(HostStage::StartingInstallation, &info).await;
        }
    }

    async fn start_bootstrap(
        &self,
        bootstrap: &Bootstrap<'_>,
        attempt: &mut Attempt,
    ) -> Result<(), InstallError> {
        if attempt.control_plane_started() {
            info!("the temporary control plane has been started already");
            return Ok(());
        }
        bootstrap.start().await?;
        Ok(attempt.note_control_plane_started()?)
    }

    /// The role that the host has once its temporary control plane is on its way.
    fn role(&self) -> HostRole {
        if self.config.is_bootstrap() { HostRole::Master } else { self.config.role }
    }

    async fn go_on(
        &self,
        device: &Path,
        args: &[String],
        bootstrap: Option<&Bootstrap<'_>>,
        layered: Option<&Layered<'_>>,
        attempt: &mut Attempt,
    ) -> Result<(), InstallError> {
        let config = &self.config;
        self.service.report(HostStage::Installing, self.role().as_str()).await;
        if layered.is_some() && config.is_single_node() {
            Layered::tell_no_disk(&self.host)?;
        }
        let ignition = self.ignition(attempt).await?;
        self.write(device, &ignition, args).await?;
        if layered.is_some() && bootstrap.is_some() {
            Layered::tell_disk(&self.host, device)?;
        }
        if config.role == HostRole::Worker {
            self.await_control_plane().await;
        }
        if !config.keeps_disk() {
            self.finish_disk(device, &ignition, args, layered).await?;
        }
        let etcd_stands_alone = match bootstrap {
            Some(bootstrap) => Some(bootstrap.hand_over().await?),
            None => None,
        };
        if let Some(layered) = layered
            && (bootstrap.is_some() || config.is_single_node())
        {
            layered.release().await;
        }
        self.send_logs().await;
        self.restart(attempt, etcd_stands_alone).await
    }

    /// Where the Ignition config is that the system on the disk will apply.
    async fn ignition(&self, attempt: &mut Attempt) -> Result<String, InstallError> {
        let single = self.config.is_single_node();
        let role = if single { HostRole::Master } else { self.role() };
        let id = self.config.host_id.map(|id| id.to_string()).unwrap_or_default();
        let own = format!("{INSTALL_DIR}/{role}-{id}.ign");
        if !single {
            self.service.fetch_host_ignition(&self.host, &own).await?;
            return Ok(own);
        }
        let bootstrap = Bootstrap { config: &self.config, host: &self.host, service: &self.service };
        self.start_bootstrap(&bootstrap, attempt).await?;
        self.service.fetch_host_ignition(&self.host, &own).await?;
        Ok(bootstrap.single_node_ignition(&own).await?.to_owned())
    }

    async fn write(&self, device: &Path, ignition: &str, args: &[String]) -> Result<(), InstallError> {
        let config = &self.config;
        self.service.report(HostStage::WritingImageToDisk, "").await;
        if config.keeps_disk() {
            let lay = async || disk::deploy_beside(&config.coreos_image, ignition, args, &self.host).await;
            return Ok(attempts(WRITES, 1, config.intervals, lay).await?);
        }
        let dry = config.dry_run.is_some();
        let write = async || {
            self.reporting_progress(HostStage::WritingImageToDisk, async |progress| {
                disk::write(device, ignition, args, dry, &self.host, &progress).await
            })
            .await
        };
        Ok(attempts(WRITES, 1, config.intervals, write).await?)
    }

    /// Does something that tells how far it is, and reports that.
    async fn reporting_progress<T>(
        &self,
        stage: HostStage,
        work: impl AsyncFnOnce(mpsc::UnboundedSender<disk::Percent>) -> T,
    ) -> T {
        let (progress, mut seen) = mpsc::unbounded_channel::<disk::Percent>();
        let report = async {
            while let Some(mut percent) = seen.recv().await {
                // What is past when there is time to report it needn't be.
                while let Ok(later) = seen.try_recv() {
                    percent = later;
                }
                self.service.report(stage, &format!("{}%", percent.0)).await;
            }
        };
        tokio::join!(work(progress), report).0
    }

    /// What remains to be done on the disk when the image is on it.
    async fn finish_disk(
        &self,
        device: &Path,
        ignition: &str,
        args: &[String],
        layered: Option<&Layered<'_>>,
    ) -> Result<(), InstallError> {
        let (host, intervals) = (&self.host, self.config.intervals);
        let dry = self.config.dry_run.is_some();
        if let Some(layered) = layered {
            let builds_here = self.config.is_bootstrap() || self.config.is_single_node();
            let image = layered.await_image(builds_here).await?;
            layered.deploy(device, ignition, args, &image, builds_here).await?;
        } else if self.config.skip_mco_reboot && !dry {
            self.overwrite(device, ignition, args).await;
        }
        if !dry && let Err(error) = disk::set_boot_order(device, host, intervals).await {
            warn!(%error, "the boot order stays");
        }
        let master = matches!(self.role(), HostRole::Master | HostRole::Bootstrap);
        if master && host.exists(disk::REGISTRY) {
            let stage = HostStage::CopyingRegistryDataToDisk;
            self.service.report(stage, "").await;
            let copy = async |progress| disk::copy_registry(device, host, intervals, &progress).await;
            self.reporting_progress(stage, copy).await?;
        }
        Ok(())
    }

    /// Puts the system that the node is to run in place of that of the image: the release's own or, in a cluster that was installed in image
    /// mode, its pool's. It saves a restart; without it there is one more.
    async fn overwrite(&self, device: &Path, ignition: &str, args: &[String]) {
        let (host, intervals) = (&self.host, self.config.intervals);
        let config = match host.read(ignition) {
            Ok(config) => config,
            Err(error) => return warn!(%error, "the system of the image stays"),
        };
        let look = async || ignition::find(&config).await;
        let found = match attempts(MACHINE_CONFIG_ATTEMPTS, POLL_INTERVAL, intervals, look).await {
            Ok(found) => found,
            Err(error) => return warn!(%error, "the system of the image stays"),
        };
        let image = &found.image;
        let credentials = match layering::credentials_for(host, &image.url, &found.answer).await {
            Ok(credentials) => credentials,
            Err(error) => return warn!(%error, "the system of the image stays"),
        };
        match disk::overwrite(device, image, args, credentials, host, intervals).await {
            Ok(()) => info!(image = image.url, "the release's system is on the disk"),
            Err(error) => warn!(%error, "the system of the image stays"),
        }
    }

    /// A worker waits until there is a control plane that gives it its config; in a cluster that stands there is one.
    async fn await_control_plane(&self) {
        self.service.report(HostStage::WaitingForControlPlane, "").await;
        let day_two = loop {
            match self.service.cluster().await {
                Ok(cluster) => break cluster.kind == ClusterKind::AddHostsCluster,
                Err(error) => warn!(%error, "the cluster isn't known"),
            }
            self.config.intervals.pause(POLL_INTERVAL).await;
        };
        while !day_two && self.done().await < DONE_FOR_WORKERS {
            self.config.intervals.pause(POLL_INTERVAL).await;
        }
    }

    /// Control-plane hosts that are done.
    async fn done(&self) -> usize {
        let mut done = 0;
        for role in [HostRole::Master, HostRole::Arbiter] {
            match self.service.stages_of(role).await {
                Ok(stages) => done += stages.iter().filter(|stage| **stage == Some(HostStage::Done)).count(),
                Err(error) => warn!(%role, %error, "hosts aren't known"),
            }
        }
        info!(done, "waiting for control-plane hosts");
        done
    }
}

fn installer_args(text: &str) -> Result<Vec<String>, InstallError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(InstallError::InstallerArgs)
}
