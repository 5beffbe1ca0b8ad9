//! The host that carries the temporary control plane until the other ones are up (installer-and-controller §A7, §A8).

mod control_plane;
mod controller_logs;
mod hostname;
mod machine_config_server;
mod manifests;
mod ssh;
mod taint;
mod units;
mod wait;

use std::time::Duration;

use tracing::warn;

use crate::config::Config;
use crate::error::InstallError;
use crate::host::{FileError, Host};
use crate::service::Service;
use crate::{ignition, layering};

pub use control_plane::AwaitNodesError;
pub use controller_logs::ControllerLogError;
pub use hostname::HostnameError;
pub use manifests::ManifestError;
pub use units::UnitError;

/// Written when it has done its part.
const DONE: &str = "/opt/openshift/.bootkube.done";
const KUBECONFIG: &str = "/opt/openshift/auth/kubeconfig";
const IGNITION: &str = "/opt/install-dir/bootstrap.ign";
const PULL_SECRET: &str = "/root/.docker/config.json";
/// The daemon's image is pulled first.
const LAY: Duration = Duration::from_secs(3_600);
const RESTART: Duration = Duration::from_secs(5 * 60);
const ATTEMPTS: u32 = 3;

/// The work of this host as bootstrap.
pub(crate) struct Bootstrap<'a> {
    pub(crate) config: &'a Config,
    pub(crate) host: &'a Host,
    pub(crate) service: &'a Service,
}

impl Bootstrap<'_> {
    /// Starts the temporary control plane. Doing it again before it runs is harmless.
    pub(crate) async fn start(&self) -> Result<(), InstallError> {
        let dry = self.config.dry_run.is_some();
        self.host.make_dir("/root/.ssh")?;
        self.service.fetch_cluster_file("bootstrap.ign", self.host, IGNITION).await?;
        if dry {
            return Ok(());
        }
        let config = self.host.read(IGNITION)?;
        let secret = ignition::file(&config, PULL_SECRET).map_err(InstallError::BootstrapIgnition)?;
        self.host.write(PULL_SECRET, 0o600, secret)?;
        // An attempt that failed before its control plane ran has left word that nothing is to be built.
        layering::admit(self.host)?;
        self.apply_ignition().await?;
        let single = self.config.is_single_node();
        if !single {
            ssh::prepare(self.host).await?;
        }
        self.host.run("systemctl", &["daemon-reload"]).await?;
        hostname::mend(self.host).await?;
        if !single {
            // Its dispatcher makes the cluster's names known here.
            self.host.run_for(RESTART, "systemctl", &["restart", "NetworkManager.service"]).await?;
        }
        manifests::write(self.config, self.host)?;
        units::start(self.host, self.config.intervals).await?;
        Ok(())
    }

    /// Lays the files and units of the bootstrap's Ignition config onto the running system.
    async fn apply_ignition(&self) -> Result<(), InstallError> {
        let run = ["run", "--net", "host", "--pid=host", "--volume", "/:/rootfs:rw"];
        let with = ["--volume", "/usr/bin/rpm-ostree:/usr/bin/rpm-ostree", "--privileged"];
        let daemon = ["--entrypoint", "/usr/bin/machine-config-daemon", &self.config.mco_image];
        let what = ["start", "--node-name", "localhost", "--root-mount", "/rootfs"];
        let once = ["--once-from", IGNITION, "--skip-reboot"];
        let args = [&run[..], &with, &daemon, &what, &once].concat();
        let mut attempt = 1;
        loop {
            match self.host.run_for(LAY, "podman", &args).await {
                Ok(_) => return Ok(()),
                Err(error) if attempt >= ATTEMPTS => return Err(error.into()),
                Err(error) => warn!(attempt, %error, "trying again"),
            }
            attempt += 1;
        }
    }

    /// What the single node's own bootstrap made for it, with this host's config on top; where it was written to.
    pub(crate) async fn single_node_ignition(&self, own: &str) -> Result<&'static str, InstallError> {
        // Beside it, so that a second attempt begins with the original.
        const MERGED: &str = "/opt/install-dir/single-node.ign";
        const MADE: &str = "/opt/openshift/master.ign";
        self.await_bootkube().await;
        if self.config.dry_run.is_some() {
            return Ok(MADE);
        }
        let made = self.host.read(MADE)?;
        let merged = ignition::merge(&made, &self.host.read(own)?)?;
        self.host.write(MERGED, 0o600, merged)?;
        Ok(MERGED)
    }

    /// Makes the names that the cluster's own resolver knows known to this program, where it has a configuration of its
    /// own.
    fn refresh_resolver(&self) -> Result<(), FileError> {
        const PATH: &str = "/etc/resolv.conf";
        if self.config.dry_run.is_some() || !self.host.is_contained() {
            return Ok(());
        }
        let text = self.host.read(PATH)?;
        // In place: a container's is mounted.
        std::fs::write(PATH, text).map_err(FileError::of(PATH))
    }
}
