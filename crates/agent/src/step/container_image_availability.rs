//! Step `container-image-availability`: pulls images, and reports how fast that went (agent-protocol §2.4.10).

use std::time::{Duration, Instant};

use assisted_base::process::Tools;
use assisted_wire::probe_requests::ContainerImageAvailabilityRequest;
use assisted_wire::probe_responses::{
    ContainerImageAvailability, ContainerImageAvailabilityResponse, ContainerImageAvailabilityResult,
};
use tracing::warn;

use super::{Guard, only_arg, output};
use crate::image::is_image_reference;
use crate::reply::Outcome;

/// Exit code where an image is missing.
const MISSING: i64 = 2;
/// More than an installation needs.
const MOST_IMAGES: usize = 64;
const LONGEST_LIMIT: i64 = 24 * 3_600;

pub(super) async fn run(args: &[String], tools: &Tools, dry_run: bool, guard: &Guard) -> Outcome {
    let request: ContainerImageAvailabilityRequest = match only_arg("image availability", args) {
        Ok(request) => request,
        Err(outcome) => return outcome,
    };
    if request.images.len() > MOST_IMAGES {
        return Outcome::failed(format!("image availability: more than {MOST_IMAGES} images"));
    }
    if let Some(bad) = request.images.iter().find(|image| !is_image_reference(image)) {
        let bad: String = bad.chars().take(255).collect();
        return Outcome::failed(format!("image availability: {bad:?} is no image reference"));
    }
    if dry_run {
        return answer(request.images.into_iter().map(pretend).collect());
    }
    // An empty answer means that one is under way already.
    let Ok(_held) = guard.try_lock() else { return Outcome::done(String::new()) };
    let limit = Duration::from_secs(request.timeout.clamp(0, LONGEST_LIMIT).unsigned_abs());
    let end = Instant::now() + limit;
    let mut images = Vec::new();
    for image in request.images {
        images.push(check(image, tools, end).await);
    }
    answer(images)
}

fn answer(images: Vec<ContainerImageAvailability>) -> Outcome {
    let complete = images.iter().all(|image| image.result == Some(ContainerImageAvailabilityResult::Success));
    let mut outcome = output(&ContainerImageAvailabilityResponse { images });
    if !complete {
        outcome.exit_code = MISSING;
    }
    outcome
}

fn pretend(name: String) -> ContainerImageAvailability {
    ContainerImageAvailability {
        name,
        result: Some(ContainerImageAvailabilityResult::Success),
        size_bytes: 400_000_000.0,
        time: 10.0,
        download_rate: 100.0,
    }
}

async fn check(name: String, tools: &Tools, end: Instant) -> ContainerImageAvailability {
    let mut found = ContainerImageAvailability {
        name,
        result: Some(ContainerImageAvailabilityResult::Failure),
        ..ContainerImageAvailability::default()
    };
    let was_here = is_here(tools, &found.name).await;
    let begin = Instant::now();
    let left = end.saturating_duration_since(begin);
    if left < Duration::from_secs(1) {
        return found;
    }
    match tools.cmd("podman").args(["pull", &found.name]).timeout(left).run().await {
        Ok(done) if done.success() => {}
        Ok(done) => {
            warn!(image = found.name, code = done.code(), error = done.complaint(), "image not pulled");
            return found;
        }
        Err(error) => {
            warn!(image = found.name, %error, "image not pulled");
            return found;
        }
    }
    if !was_here {
        let seconds = begin.elapsed().as_secs_f64();
        let Some(size) = size(tools, &found.name).await else { return found };
        found.size_bytes = size;
        found.time = seconds;
        found.download_rate = if seconds > 0.0 { size / 1e6 / seconds } else { 0.0 };
    }
    found.result = Some(ContainerImageAvailabilityResult::Success);
    found
}

/// Whether an image is in the host's store already.
pub(super) async fn is_here(tools: &Tools, image: &str) -> bool {
    match tools.cmd("podman").args(["images", "--quiet", image]).run().await {
        Ok(done) => done.success() && !done.text().trim().is_empty(),
        Err(error) => {
            warn!(image, %error, "podman doesn't tell its images");
            false
        }
    }
}

async fn size(tools: &Tools, image: &str) -> Option<f64> {
    let inspect = ["image", "inspect", "--format={{.Size}}", image];
    let text = match tools.cmd("podman").args(inspect).run().await {
        Ok(done) if done.success() => done.text(),
        Ok(done) => {
            warn!(
                image,
                code = done.code(),
                error = done.complaint(),
                "podman doesn't tell the image's size"
            );
            return None;
        }
        Err(error) => {
            warn!(image, %error, "podman doesn't tell the image's size");
            return None;
        }
    };
    text.trim().parse::<u64>().ok().map(|size| size as f64)
}
