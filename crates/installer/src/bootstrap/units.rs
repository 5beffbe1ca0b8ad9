//! The units of the temporary control plane.

use tracing::{info, warn};

use crate::config::Intervals;
use crate::host::{Host, RunError};

const CLIENT: &str = "/usr/bin/oc";
/// Lay the release's system over one that has no client of its own.
const NODE_IMAGE: [&str; 2] = ["node-image-pull.service", "node-image-overlay.service"];
const CONTROL_PLANE: [&str; 3] = ["bootkube.service", "approve-csr.service", "progress.service"];
const POLL_INTERVAL: u64 = 2;

/// Why the temporary control plane doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("service {0} failed")]
    Failed(&'static str),
    #[error("node-image-overlay.service successful but missing /usr/bin/oc")]
    NoClient,
}

pub(super) async fn start(host: &Host, intervals: Intervals) -> Result<(), UnitError> {
    if !host.exists(CLIENT) {
        host.run("systemctl", &[&["start", "--no-block"][..], &NODE_IMAGE].concat()).await?;
        for unit in NODE_IMAGE {
            await_active(unit, host, intervals).await?;
        }
        if !host.exists(CLIENT) {
            return Err(UnitError::NoClient);
        }
    }
    for unit in CONTROL_PLANE {
        host.run("systemctl", &["start", unit]).await?;
    }
    Ok(())
}

/// Waits until a unit is active. How long it may take is the service's to say.
async fn await_active(unit: &'static str, host: &Host, intervals: Intervals) -> Result<(), UnitError> {
    loop {
        match host.run("systemctl", &["show", "-P", "ActiveState", unit]).await.as_deref() {
            Ok("active") => return Ok(()),
            Ok("failed") => {
                log_status(unit, host).await;
                return Err(UnitError::Failed(unit));
            }
            Ok(state) => info!(unit, state, "waiting"),
            Err(error) => warn!(unit, %error, "waiting"),
        }
        intervals.pause(POLL_INTERVAL).await;
    }
}

/// What systemd has to say about a unit, for the log.
pub(super) async fn log_status(unit: &str, host: &Host) {
    match host.ask("systemctl", &["status", "--no-pager", unit]).await {
        Ok(status) => info!(unit, status, "unit"),
        Err(error) => warn!(unit, %error, "unit"),
    }
}
