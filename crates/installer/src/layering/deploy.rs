//! Laying the image on a disk that is not yet booted from (ocl-day1 §B6, steps 4 and 5).

use std::path::Path;

use assisted_wire::on_cluster_layering::HostPhase;
use tracing::info;

use super::trust::{auth_file, host_of};
use super::{Layered, LayeringFailure};
use crate::attempts::attempts;
use crate::disk;
use crate::ignition;

/// Looks for the machine config: for twenty minutes, which begin when the image is ready.
const MACHINE_CONFIG_ATTEMPTS: u32 = 240;
const POLL_INTERVAL: u64 = 5;
/// Looks for the image in its registry, and seconds between them.
const REGISTRY_ATTEMPTS: u32 = 6;
const REGISTRY_PAUSE: u64 = 10;

impl Layered<'_> {
    /// Puts `image` onto a disk that was just written, as what is booted next; what was written stays as the second entry.
    pub(crate) async fn deploy(
        &self,
        device: &Path,
        ignition: &str,
        args: &[String],
        image: &str,
        builds_here: bool,
    ) -> Result<(), LayeringFailure> {
        let (host, intervals) = (self.host, self.config.intervals);
        self.service.report(self.stage(builds_here), "Deploying OS image").await;
        self.phase(if self.switches() { HostPhase::Switching } else { HostPhase::Deploying }, "").await;
        let pointer = host.read(ignition)?;
        if !builds_here && let Some(name) = ignition::source(&pointer).as_deref().and_then(host_of) {
            self.map_name(name).await?;
        }
        let look = async || ignition::find(&pointer).await;
        let found = attempts(MACHINE_CONFIG_ATTEMPTS, POLL_INTERVAL, intervals, look).await?;
        if found.image.url != image {
            return Err(LayeringFailure::Another { served: found.image.url, expected: image.to_owned() });
        }
        self.take_trust(&found.answer).await?;
        if self.is_embedded() && !self.switches() {
            self.reach(image).await?;
        }
        let is_master = self.pool == assisted_wire::on_cluster_layering::Pool::Master;
        let deployed = match self.switches() {
            true => Ok(()),
            false => disk::overwrite(device, &found.image, args, auth_file(host), host, intervals).await,
        };
        let replica = match self.is_embedded() && is_master {
            true => Some(self.replicate(device, &found.answer, image, builds_here).await),
            false => None,
        };
        match (deployed, replica) {
            (Ok(()), Some(Err(error))) => return Err(error),
            (Ok(()), _) => info!(image, "this host has the image of its pool"),
            // The node has its own copy, or a registry that it reaches: one more restart makes up for it.
            (Err(error), Some(Ok(()))) => self.report_switch(&error).await,
            (Err(error), None) if !self.is_embedded() => self.report_switch(&error).await,
            (Err(error), _) => return Err(error.into()),
        }
        self.phase(HostPhase::Done, "").await;
        Ok(())
    }

    /// Looks for the image in the cluster's registry before anything is laid, so that a port that is closed between hosts is named.
    async fn reach(&self, image: &str) -> Result<(), LayeringFailure> {
        let args = ["inspect", "--raw", "--authfile", auth_file(self.host), &format!("docker://{image}")];
        let look = async || self.host.run("skopeo", &args).await;
        let found = attempts(REGISTRY_ATTEMPTS, REGISTRY_PAUSE, self.config.intervals, look).await;
        found
            .map(drop)
            .map_err(|error| LayeringFailure::Registry { image: image.to_owned(), error: Box::new(error) })
    }
}
