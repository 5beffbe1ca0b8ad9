//! The end: logs, then a restart from the disk (installer-and-controller §A15).

use assisted_agent::{LogDirs, LogsRequest, gather_logs};
use assisted_wire::host::HostStage;
use tracing::{info, warn};

use crate::error::InstallError;
use crate::flow::Installer;
use crate::host::Attempt;

const MESSAGE: &str = "'Installation completed, server is going to reboot.'";
/// How long after this program's end the bootstrap host of several masters restarts: etcd on the others settles that it goes.
const ETCD_SETTLES: &str = "60s";
/// How long after this program's end any other host restarts: its agent tells the service that the program has ended well.
const AGENT_REPORTS: &str = "8s";
/// A timer of systemd is late by up to a minute unless it is told otherwise.
const ACCURACY: &str = "--timer-property=AccuracySec=100ms";
/// What manages machines by their board controllers, where it runs, and restarts them itself.
const IRONIC: &str = "ironic-agent.service";

impl Installer {
    /// Sends this host's logs; a failure keeps nobody from the restart.
    pub(crate) async fn send_logs(&self) {
        let config = &self.config;
        self.service.expect_host_logs().await;
        let Some(host_id) = config.host_id else { return };
        let request = LogsRequest {
            cluster_id: config.cluster_id,
            infra_env_id: config.infra_env_id,
            host_id,
            bootstrap: config.is_bootstrap() || config.is_single_node(),
            installer_gather: false,
            master_ips: Vec::new(),
            since: None,
            keep: false,
        };
        let mut service = assisted_agent::Config::new(&config.url, config.infra_env_id);
        service.token = config.token.clone();
        service.ca_file.clone_from(&config.ca_file);
        service.insecure = config.insecure;
        let dirs = LogDirs {
            logs: self.host.path("/var/log"),
            artifacts: self.host.path("/tmp"),
            bundles: self.host.path("/root"),
        };
        let outcome = gather_logs(&request, self.host.tools(), &service, &dirs).await;
        if outcome.exit_code == 0 {
            info!("logs sent");
        } else {
            warn!(error = outcome.error, "logs not sent");
        }
    }

    /// Restarts the machine, or leaves that to whoever does it.
    pub(crate) async fn restart(&self, attempt: &mut Attempt) -> Result<(), InstallError> {
        if let Some(dry) = &self.config.dry_run {
            self.service.report(HostStage::Rebooting, "").await;
            return Ok(self.host.write(&dry.reboot_marker.display().to_string(), 0o644, "")?);
        }
        let units = self.host.run("systemctl", &["list-units", "--no-legend", IRONIC]).await?;
        if units.contains(IRONIC) {
            self.service.report(HostStage::Rebooting, "Ironic will reboot the node shortly").await;
            attempt.note_restarting()?;
            self.host.run("systemctl", &["stop", "agent.service"]).await?;
            return Ok(());
        }
        self.service.report(HostStage::Rebooting, "").await;
        // From here on the disk must not be touched: the machine may go down at any moment.
        attempt.note_restarting()?;
        // The timer is the machine's, not this program's: it ends well before the restart ends everything. A program that the
        // restart ends has failed, as far as the agent knows.
        let delay = if self.config.is_bootstrap() { ETCD_SETTLES } else { AGENT_REPORTS };
        info!("the machine restarts in {delay}");
        let delay = format!("--on-active={delay}");
        self.host.run("systemd-run", &[&delay, ACCURACY, "--", "shutdown", "-r", "now", MESSAGE]).await?;
        Ok(())
    }
}
