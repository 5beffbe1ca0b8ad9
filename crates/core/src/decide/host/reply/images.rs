//! A host tried to pull the images that its installation takes (agent-protocol §2.4.10).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use assisted_wire::embedded;
use assisted_wire::probe_responses::{
    ContainerImageAvailability, ContainerImageAvailabilityResponse, ContainerImageAvailabilityResult,
};
use assisted_wire::step::StepType;

use super::WorkingCopy;
use crate::model::event::{NewEvent, Values, catalogue};
use crate::model::facts::HostFacts;
use crate::model::refusal::Refusal;
use crate::model::report::ReportKind;

/// Most images whose outcome is kept: far more than an installation takes.
const MOST_IMAGES: usize = 64;

const MEGABYTE: f64 = 1_048_576.0;

/// Notes the outcome of each image. What was measured at the first pull is kept: later ones find the image there.
pub(super) fn tried(draft: &mut WorkingCopy<'_>, output: &str) -> Result<(), Refusal> {
    if output.is_empty() {
        // Another check runs already.
        return Ok(());
    }
    let response: ContainerImageAvailabilityResponse =
        draft.read(StepType::ContainerImageAvailability, output)?;
    let known = embedded::read(draft.host.report(ReportKind::ImagesStatus));
    let mut known: BTreeMap<String, ContainerImageAvailability> =
        known.map_err(Refusal::internal)?.unwrap_or_default();
    let mut events = Vec::new();
    for image in response.images {
        match known.entry(image.name.clone()) {
            Entry::Occupied(mut entry) => entry.get_mut().result = image.result,
            Entry::Vacant(entry) => {
                events.push(event(&draft.host, &image));
                entry.insert(image);
            }
        }
    }
    if known.len() > MOST_IMAGES {
        return Err(Refusal::invalid(format!("status of more than {MOST_IMAGES} images")));
    }
    draft.put(ReportKind::ImagesStatus, &known)?;
    draft.events.extend(events);
    Ok(())
}

fn event(host: &HostFacts, image: &ContainerImageAvailability) -> NewEvent {
    let result = image.result.map(ContainerImageAvailabilityResult::as_str).unwrap_or_default();
    let info = if image.size_bytes > 0.0 {
        format!(
            "time: {:.2} seconds; size: {:.2} Megabytes; download rate: {:.2} MBps",
            image.time,
            image.size_bytes / MEGABYTE,
            image.download_rate
        )
    } else {
        String::new()
    };
    let values: Values<'_> = &[("image_status", &image.name), ("result", &result), ("info", &info)];
    catalogue::IMAGE_STATUS_UPDATED.of_host(host, values)
}
