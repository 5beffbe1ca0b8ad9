//! The images that an installation takes, and where they are named (agent-protocol §2.4.10).

use std::collections::{BTreeMap, BTreeSet};

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::CpuArchitecture;
use assisted_wire::probe_requests::ContainerImageAvailabilityRequest;
use assisted_wire::probe_responses::ContainerImageAvailability;

use crate::catalogue::release::must_gather::named;
use crate::model::cluster::ClusterRecord;
use crate::model::facts::{Facts, HostFacts};
use crate::model::report::ReportKind;
use crate::policy::Images;

/// The image that collects data of OpenShift itself.
const OPENSHIFT: &str = "ocp";

/// Images that the host has not tried yet; `None` when there are none.
pub(super) fn request(
    facts: &Facts,
    record: &ClusterRecord,
    host: &HostFacts,
) -> Option<ContainerImageAvailabilityRequest> {
    let tried: BTreeMap<String, ContainerImageAvailability> =
        serde_json::from_str(host.report(ReportKind::ImagesStatus)).unwrap_or_default();
    let must_gather = must_gather(facts, record);
    let needed = [
        Some(&record.cluster.ocp_release_image),
        Some(&record.payload.mco),
        must_gather.get(OPENSHIFT),
        installer(&facts.policy.images),
    ];
    let mut seen = BTreeSet::new();
    let images: Vec<_> = needed
        .into_iter()
        .flatten()
        .filter(|image| !image.is_empty() && !tried.contains_key(*image) && seen.insert(*image))
        .cloned()
        .collect();
    let timeout = i64::try_from(facts.policy.hosts.image_availability_timeout.as_secs()).ok()?;
    (!images.is_empty()).then_some(ContainerImageAvailabilityRequest { timeout, images })
}

/// A host that was given its programs has the installer: where nothing but mirrors is reached its image may be nowhere.
fn installer(images: &Images) -> Option<&String> {
    images.agent_as_image.then_some(&images.installer)
}

/// Images that collect data of a failed cluster, by what they know (install-generation §10.2).
fn must_gather(facts: &Facts, record: &ClusterRecord) -> BTreeMap<String, String> {
    let Cluster { openshift_version: version, cpu_architecture, .. } = &record.cluster;
    let architecture = cpu_architecture.unwrap_or(CpuArchitecture::X8664);
    let mut images = named(&facts.policy.versions, version, architecture);
    if !images.contains_key(OPENSHIFT) && !record.payload.must_gather.is_empty() {
        images.insert(OPENSHIFT.to_owned(), record.payload.must_gather.clone());
    }
    images
}

/// The same as the installer wants it: the one image, or a JSON map; empty when nothing is known.
pub(super) fn must_gather_text(facts: &Facts, record: &ClusterRecord) -> String {
    let images = must_gather(facts, record);
    match (images.len(), images.get(OPENSHIFT)) {
        (0, _) => String::new(),
        (1, Some(image)) => image.clone(),
        _ => serde_json::to_string(&images).unwrap_or_default(),
    }
}
