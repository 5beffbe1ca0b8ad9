//! Waiting for the image. What is told meanwhile stands in published stages: there are no new ones (ocl-day1 §B10.2).

use std::time::{Duration, Instant};

use assisted_wire::host::HostStage;
use assisted_wire::on_cluster_layering::{BuildState, HostPhase, LayeringErrorCode, LayeringState, Pool};
use tracing::warn;

use super::{Layered, LayeringFailure};

const POLL_INTERVAL: u64 = 10;
/// Longer than any build may take, with the control plane to be waited for; the service's own limits are shorter.
const LONGEST: Duration = Duration::from_secs(13 * 3_600);

impl Layered<'_> {
    /// The stage in which this host waits for its image and lays it. A single node has no control plane to wait for: its list ends with
    /// the disk (state-machines §4.4).
    pub(super) fn stage(&self, builds_here: bool) -> HostStage {
        let is_single = self.config.is_single_node();
        match self.pool {
            Pool::Worker => HostStage::WaitingForControlPlane,
            Pool::Master if builds_here && !is_single => HostStage::WaitingForControlPlane,
            Pool::Master => HostStage::WritingImageToDisk,
        }
    }

    /// The image of this host's pool, by digest, once it is ready.
    pub(crate) async fn await_image(&self, builds_here: bool) -> Result<String, LayeringFailure> {
        let stage = self.stage(builds_here);
        let waiting = format!("Waiting for the OS image of pool {}", self.pool);
        let limit = self.config.intervals.of(LONGEST).max(Duration::from_secs(60));
        let begun = Instant::now();
        let mut reported = String::new();
        loop {
            match self.images.state().await {
                Ok(Some(state)) => {
                    if let Some(image) = self.image_of(&state)? {
                        return Ok(image);
                    }
                    let text = if builds_here { building(&state, self.pool) } else { waiting.clone() };
                    if text != reported {
                        self.service.report(stage, &text).await;
                        if reported.is_empty() && !builds_here {
                            self.phase(HostPhase::Waiting, &text).await;
                        }
                        reported = text;
                    }
                }
                Ok(None) => return Err(LayeringFailure::NoBuild(self.pool)),
                Err(error) => warn!(%error, "the state of the image isn't known"),
            }
            if begun.elapsed() > limit {
                return Err(LayeringFailure::Late { pool: self.pool, minutes: LONGEST.as_secs() / 60 });
            }
            self.config.intervals.pause(POLL_INTERVAL).await;
        }
    }

    fn image_of(&self, state: &LayeringState) -> Result<Option<String>, LayeringFailure> {
        let build = state.builds.iter().find(|build| build.pool == self.pool);
        let build = build.ok_or(LayeringFailure::NoBuild(self.pool))?;
        match (build.state, &build.image) {
            (BuildState::Ready, Some(image)) => Ok(Some(image.clone())),
            (BuildState::Failed, _) => Err(LayeringFailure::Build {
                code: build.error_code.unwrap_or(LayeringErrorCode::BuildInfra),
                message: build.error.clone().unwrap_or_default(),
            }),
            _ => Ok(None),
        }
    }
}

/// `Building OS image for pool master: STEP 7/12 (58%)`.
fn building(state: &LayeringState, own: Pool) -> String {
    let Some(build) = state.builds.iter().find(|build| build.pool == own) else { return String::new() };
    let step = build.step.as_deref().and_then(|step| step.split(": ").next());
    let step = step.unwrap_or(build.state.as_str());
    format!("Building OS image for pool {}: {step} ({}%)", build.pool, build.percent)
}
