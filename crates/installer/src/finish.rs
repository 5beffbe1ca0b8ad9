//! The end: logs, then a restart from the disk (installer-and-controller §A15).

use std::time::{Duration, Instant};

use assisted_agent::{LogDirs, LogsRequest, gather_logs};
use assisted_wire::host::HostStage;
use tracing::{info, warn};

use crate::error::InstallError;
use crate::flow::Installer;
use crate::host::Attempt;

const MESSAGE: &str = "'Installation completed, server is going to reboot.'";
/// How long etcd of the other masters takes to settle that the bootstrap host goes, from when it stands alone: the bootstrap
/// host restarts no sooner (§A15).
const ETCD_SETTLES: Duration = Duration::from_secs(60);
/// How long after this program's end a host restarts, at least: its agent reports to the service that the program has ended
/// well.
const AGENT_REPORTS: Duration = Duration::from_secs(8);
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

    /// Restarts the machine, or leaves that to whoever does it. Etcd of the others may stand alone since some time.
    pub(crate) async fn restart(
        &self,
        attempt: &mut Attempt,
        etcd_stands_alone: Option<Instant>,
    ) -> Result<(), InstallError> {
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
        let settles = if self.config.is_bootstrap() { ETCD_SETTLES } else { Duration::ZERO };
        let delay = delay(settles, etcd_stands_alone.map(|since| since.elapsed()));
        info!("the machine restarts in {delay}");
        let delay = format!("--on-active={delay}");
        self.host.run("systemd-run", &[&delay, ACCURACY, "--", "shutdown", "-r", "now", MESSAGE]).await?;
        Ok(())
    }
}

/// How long after this program's end the machine restarts, as systemd reads it, when etcd settles for a while and has done so
/// for some of it.
fn delay(settles: Duration, settled: Option<Duration>) -> String {
    let left = settles.saturating_sub(settled.unwrap_or_default()).max(AGENT_REPORTS);
    format!("{}s", left.as_secs_f64().ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etcd_settles_while_the_controller_is_awaited() {
        let seconds = Duration::from_secs;
        for (settles, settled, expected) in [
            (60, None, "60s"),
            (60, Some(seconds(0)), "60s"),
            (60, Some(Duration::from_millis(20_500)), "40s"),
            (60, Some(seconds(300)), "8s"),
            (0, None, "8s"),
        ] {
            assert_eq!(delay(seconds(settles), settled), expected);
        }
    }
}
