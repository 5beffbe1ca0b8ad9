//! The builder on this host, seen from its installer: it gets to know the disk, its progress goes to the service, and it ends with the
//! installation (ocl-day1 §B5, §B10.1).

use std::path::Path;
use std::time::{Duration, Instant};

use assisted_ocl::builder::{Machine, Progress, is_running, pack_logs, remove_scratch, stop};
use assisted_ocl::paths;
use assisted_wire::host::{HostRole, HostStage};
use assisted_wire::on_cluster_layering::{BuildLocation, BuildState, LayeringBuild, Pool};
use serde_json::json;
use tracing::{info, warn};

use super::{Layered, OTHERS};
use crate::host::{FileError, Host};

/// Where the builder learns on which disk it finds room.
const DISK: &str = "/run/ocl/disk.json";
/// Where archives of logs are until they are sent.
const LOGS: &str = "/run/ocl";
const LOGS_LIMIT: Duration = Duration::from_secs(60);
const LOOK: u64 = 2;
/// How often a builder that has nothing new to tell is told of: the service takes one that is silent for ten minutes for lost.
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

/// Lets a builder begin that the end of an earlier attempt holds back.
pub(crate) fn admit(host: &Host) -> Result<(), FileError> {
    match std::fs::remove_file(host.path(paths::FAILED)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(FileError::of(paths::FAILED)(error))
        }
        _ => Ok(()),
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

    /// Tells the service how far the builder is; never ends. That it is as far as before is told only while it lives: one that died for
    /// good is to be found by its silence.
    pub(crate) async fn forward(&self) -> std::convert::Infallible {
        let machine = machine(self.host);
        let alive = self.config.intervals.of(ALIVE);
        // Each pool is silent or not by itself.
        let mut reported: Vec<(LayeringBuild, Instant)> = Vec::new();
        let mut sent: Vec<Pool> = Vec::new();
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
            for build in &progress.builds {
                let Some(mut record) = progress.record(build.pool, BuildLocation::Bootstrap) else {
                    continue;
                };
                record.host_id = self.config.host_id;
                let known = reported.iter().find(|(known, _)| known.pool == record.pool);
                let is_known = known.is_some_and(|(known, at)| {
                    let is_due = !record.state.is_terminal() && at.elapsed() >= alive;
                    *known == record && !(is_due && is_running(&machine))
                });
                if is_known {
                    continue;
                }
                // Where a build has failed, this installer ends as soon as the service knows of it.
                let failed = record.state == BuildState::Failed && !sent.contains(&build.pool);
                if failed && self.send_logs(&machine, build.pool).await {
                    sent.push(build.pool);
                }
                if let Err(error) = self.images.report(record.clone()).await {
                    warn!(pool = %build.pool, %error, "the builder's progress isn't taken");
                    continue;
                }
                let ends = record.state.is_terminal() && !sent.contains(&build.pool);
                reported.retain(|(other, _)| other.pool != record.pool);
                reported.push((record, Instant::now()));
                if ends && self.send_logs(&machine, build.pool).await {
                    sent.push(build.pool);
                }
            }
        }
    }

    /// Sends what the build of a pool's image has written, once; whether it was taken.
    async fn send_logs(&self, machine: &Machine, pool: Pool) -> bool {
        let path = format!("{LOGS}/os-image-{pool}.tar.gz");
        let packed = pack_logs(machine, pool).and_then(|bytes| {
            self.host.write(&path, 0o600, bytes).map_err(std::io::Error::other)?;
            Ok(self.host.path(&path))
        });
        let archive = match packed {
            Ok(archive) => archive,
            Err(error) => {
                warn!(%pool, %error, "the logs of the build can't be packed");
                return false;
            }
        };
        // Whoever waits for the build is not to wait for its logs.
        let limit = self.config.intervals.of(LOGS_LIMIT).max(Duration::from_secs(10));
        match tokio::time::timeout(limit, Box::pin(self.service.upload_build_logs(pool, &archive))).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => warn!(%pool, %error, "the logs of the build aren't taken"),
            Err(_) => warn!(%pool, "the logs of the build find nobody who takes them"),
        }
        false
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

#[cfg(test)]
mod tests {
    use assisted_base::process::Tools;

    use super::*;

    #[tokio::test]
    async fn the_next_attempt_builds_what_an_earlier_one_has_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::at(dir.path(), Tools::default());
        admit(&host).unwrap();
        host.write(paths::CONFIG, 0o600, "{}").unwrap();
        end(&host).await;
        assert!(host.exists(paths::FAILED), "no builder begins where the installation has ended");
        admit(&host).unwrap();
        assert!(!host.exists(paths::FAILED));
    }
}
