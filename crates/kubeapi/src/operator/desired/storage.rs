//! Claims of volumes.

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use k8s_openapi::api::core::v1::PersistentVolumeClaimSpec;
use serde_json::{Value, json};

use super::{Input, annotation_of, object};
use crate::operator::{DATABASE_CLAIM, FILES_CLAIM, annotation};

/// Whether a volume is asked for: an empty claim asks for none.
pub fn is_given(claim: &PersistentVolumeClaimSpec) -> bool {
    *claim != PersistentVolumeClaimSpec::default()
}

/// The name of a claim, with the prefix that an annotation asks for.
pub fn claim_name(config: &AgentServiceConfig, name: &str) -> String {
    format!("{}{name}", annotation_of(config, annotation::CLAIM_PREFIX))
}

pub(super) fn files(input: &Input<'_>) -> Option<Value> {
    claim(input, FILES_CLAIM, &input.config.spec.filesystem_storage)
}

pub(super) fn database(input: &Input<'_>) -> Option<Value> {
    claim(input, DATABASE_CLAIM, &input.config.spec.database_storage)
}

/// Of a claim that is there nothing can change but how much it asks for, and that can't become less.
fn claim(input: &Input<'_>, name: &str, wanted: &PersistentVolumeClaimSpec) -> Option<Value> {
    if !is_given(wanted) {
        return None;
    }
    let name = claim_name(input.config, name);
    let mut spec = wanted.clone();
    if let Some(there) = input.facts.claims.get(&name) {
        spec = there.clone();
        let more = size(wanted).filter(|(_, bytes)| size(there).is_none_or(|(_, there)| *bytes > there));
        if let Some((text, _)) = more {
            let requests = spec.resources.get_or_insert_default().requests.get_or_insert_default();
            requests
                .insert("storage".to_owned(), k8s_openapi::apimachinery::pkg::api::resource::Quantity(text));
        }
    }
    let mut claim = object(input, "v1", "PersistentVolumeClaim", &name);
    claim["spec"] = json!(spec);
    Some(claim)
}

fn size(claim: &PersistentVolumeClaimSpec) -> Option<(String, u64)> {
    let text = claim.resources.as_ref()?.requests.as_ref()?.get("storage")?.0.clone();
    let bytes = quantity(&text)?;
    Some((text, bytes))
}

/// How many bytes a quantity is; none if it can't be read.
pub fn quantity(text: &str) -> Option<u64> {
    const UNITS: &[(&str, f64)] = &[
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("m", 0.001),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
    ];
    let (number, unit) = UNITS
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|number| (number, *factor)))
        .unwrap_or((text, 1.0));
    let bytes = number.parse::<f64>().ok()? * unit;
    // More than any disk holds is as good as the most there is.
    (bytes.is_finite() && bytes >= 0.0).then_some(bytes as u64)
}
