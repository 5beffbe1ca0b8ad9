//! The builder on this host, seen from its installer: it gets to know the disk, its progress goes to the service, and it ends with the
//! installation (ocl-day1 §B5, §B10.1).

use std::path::Path;
use std::time::{Duration, Instant};

use assisted_ocl::builder::{Machine, Progress, remove_scratch, stop};
use assisted_ocl::paths;
use assisted_wire::host::{HostRole, HostStage};
use assisted_wire::on_cluster_layering::{BuildLocation, LayeringBuild};
use serde_json::json;
use tracing::{info, warn};

use super::{Layered, OTHERS};
use crate::host::{FileError, Host};

/// Where the builder learns on which disk it finds room.
const DISK: &str = "/run/ocl/disk.json";
const LOOK: u64 = 2;
/// The service takes a builder that is silent for ten minutes for lost.
const ALIVE: Duration = Duration::from_secs(30);
const PEERS: u64 = 10;

/// The machine as the builder knows it.
pub(crate) fn machine(host: &Host) -> Machine {
    Machine::at(host.path("/"), host.tools().clone())
}

/// Ends a builder that may run on this host, and gives back what it took.
pub(crate) async fn end(host: &Host) {
    if host.exists(paths::CONFIG)
        && let Err(error) = stop(&machine(host)).await
    {
        warn!(%error, "the builder of images isn't ended");
    }
}

impl Layered<'_> {
    /// Lets the builder take room at the end of a disk, on which the image is by now.
    pub(crate) fn tell_disk(host: &Host, device: &Path) -> Result<(), FileError> {
        host.write(DISK, 0o600, json!({ "device": device }).to_string())
    }

    /// Lets the builder know that it is to do without a disk: this host's is written when the build is done.
    pub(crate) fn tell_no_disk(host: &Host) -> Result<(), FileError> {
        host.write(DISK, 0o600, json!({ "device": null }).to_string())
    }

    /// Tells the service how far the builder is; never ends.
    pub(crate) async fn forward(&self) -> std::convert::Infallible {
        let machine = machine(self.host);
        let mut reported: Vec<LayeringBuild> = Vec::new();
        let mut last = Instant::now();
        loop {
            self.config.intervals.pause(LOOK).await;
            let progress = match Progress::read(&machine) {
                Ok(Some(progress)) => progress,
                Ok(None) => continue,
                Err(error) => {
                    warn!(%error, "the builder's progress can't be read");
                    continue;
                }
            };
            let still_there = last.elapsed() >= ALIVE;
            for build in &progress.builds {
                let Some(mut record) = progress.record(build.pool, BuildLocation::Bootstrap) else {
                    continue;
                };
                record.host_id = self.config.host_id;
                let is_news = !reported.contains(&record);
                if !is_news && (!still_there || record.state.is_terminal()) {
                    continue;
                }
                match self.images.report(record.clone(), Vec::new()).await {
                    Ok(()) => {
                        reported.retain(|other| other.pool != record.pool);
                        reported.push(record);
                        last = Instant::now();
                    }
                    Err(error) => warn!(pool = %build.pool, %error, "the builder's progress isn't taken"),
                }
            }
        }
    }

    /// Takes the registry and the build's room away, once every other control plane host has what it needs.
    pub(crate) async fn release(&self) {
        let limit = self.config.intervals.of(OTHERS).max(Duration::from_secs(30));
        let gone = async {
            loop {
                match self.service.peers().await {
                    Ok(peers) => {
                        let open = peers
                            .iter()
                            .filter(|peer| peer.role != HostRole::Worker && !has_image(peer.stage));
                        let open: Vec<_> = open.map(|peer| peer.name.as_str()).collect();
                        if open.is_empty() {
                            break;
                        }
                        info!(
                            hosts = open.join(", "),
                            "the registry stays for hosts that may still pull from it"
                        );
                    }
                    Err(error) => warn!(%error, "other hosts aren't known"),
                }
                self.config.intervals.pause(PEERS).await;
            }
        };
        if tokio::time::timeout(limit, gone).await.is_err() {
            warn!("some hosts may not have their image yet: the registry ends all the same");
        }
        let machine = machine(self.host);
        if let Err(error) = assisted_ocl::builder::write_bundle(&machine).await {
            warn!(%error, "the logs of the build aren't gathered");
        }
        remove_scratch(&machine).await;
    }
}

/// Whether a host at this stage needs the bootstrap host's registry no more.
fn has_image(stage: Option<HostStage>) -> bool {
    use HostStage::{Configuring, Done, Joined, Rebooting, WaitingForIgnition};
    matches!(stage, Some(Rebooting | WaitingForIgnition | Configuring | Joined | Done))
}
