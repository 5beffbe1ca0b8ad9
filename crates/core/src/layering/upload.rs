//! What is refused already when a manifest is uploaded (ocl-day1 §B3.2, "W").

use serde_json::Value;

use super::machine_os_config::{self, PRE_BUILT_IMAGE, is_pre_built};
use super::reference::is_digest_reference;
use super::violation::{Rule, Violation};
use crate::model::layering::ManifestObject;

/// Checks the MachineOSConfigs of one file; `others` are those in the cluster's other files. `enabled`: the cluster is to be
/// installed in image mode.
///
/// One with a pre-built image belongs to users who built theirs elsewhere: it is passed through while the mode is disabled.
pub fn check(
    objects: &[ManifestObject],
    others: &[&Value],
    enabled: bool,
    architecture: &str,
) -> Vec<Violation> {
    let configs = || {
        objects.iter().filter_map(|object| match object {
            ManifestObject::MachineOsConfig(document) => Some(document),
            _ => None,
        })
    };
    let mut violations = Vec::new();
    for document in configs() {
        if is_pre_built(document) && !enabled {
            violations.extend(pre_built(document));
        } else if let Err(wrong) = machine_os_config::read(document, architecture) {
            violations.extend(wrong);
        }
    }
    let mut all: Vec<&Value> = others.to_vec();
    for document in configs() {
        violations.extend(v04(document, &all));
        all.push(document);
    }
    violations
}

/// At most one for each pool.
pub(super) fn v04(document: &Value, others: &[&Value]) -> Option<Violation> {
    let pool = document["spec"]["machineConfigPool"]["name"].as_str()?;
    let twice = others.iter().any(|other| other["spec"]["machineConfigPool"]["name"] == pool);
    twice.then(|| {
        let pool: String = pool.chars().take(63).collect();
        Violation::new(
            Rule::V04,
            format!("There are two MachineOSConfigs for pool {pool}"),
            "Keep one of them.",
        )
    })
}

/// The image that one brings must be named as a status can hold it.
fn pre_built(document: &Value) -> Option<Violation> {
    let image = document["metadata"]["annotations"][PRE_BUILT_IMAGE].as_str().unwrap_or_default();
    (!is_digest_reference(image)).then(|| {
        Violation::new(
            Rule::V11,
            "The pre-built image of a MachineOSConfig is not named as host[:port]/[namespace/]name@sha256:<digest>",
            "Name it by its digest alone, without a tag, with one part between host and name at most.",
        )
    })
}
