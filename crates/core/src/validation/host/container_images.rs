//! `container-images-available`: what was pulled before the installation could be pulled fast enough.

use std::collections::BTreeMap;

use assisted_wire::probe_responses::{ContainerImageAvailability, ContainerImageAvailabilityResult};

use super::View;
use crate::catalogue::hardware::MIN_IMAGE_RATE_MB_S;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;

/// Names of images that can't be pulled, out of the text of `images_status`, sorted; `None` when it can't be read.
pub fn invalid_images(images_status: &str) -> Option<Vec<String>> {
    if images_status.is_empty() {
        return Some(Vec::new());
    }
    let images: BTreeMap<String, ContainerImageAvailability> = serde_json::from_str(images_status).ok()?;
    let invalid = |image: &ContainerImageAvailability| {
        image.result == Some(ContainerImageAvailabilityResult::Failure)
            || (image.size_bytes > 0.0 && image.download_rate < MIN_IMAGE_RATE_MB_S)
    };
    Some(images.into_iter().filter(|(_, image)| invalid(image)).map(|(name, _)| name).collect())
}

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(invalid) = invalid_images(view.host.report(ReportKind::ImagesStatus)) else {
        return Outcome::error("Validation error");
    };
    if invalid.is_empty() {
        return Outcome::success(
            "All required container images were either pulled successfully or no attempt was made to pull them",
        );
    }
    let names = invalid.join(",");
    Outcome::failure(format!(
        "Failed to fetch container images needed for installation from {names}. This may be due to a network hiccup. \
         Retry to install again. If this problem persists, check your network settings to make sure you’re not blocked."
    ))
    .measured(format!("failed: {names}"))
    .required("every image pulled")
    .remedy("Check that the host reaches the registry, with its proxy and pull secret; then reset this validation.")
}
