//! Conversion between the versions of the providers' kinds (capi-providers §5).
//!
//! One version of each kind is stored, the hub; another one is served beside it. What a version can't say is kept in the annotation
//! `cluster.x-k8s.io/conversion-data`, whichever way an object is converted, as a JSON merge patch of spec and status. On the way back
//! a field of it is restored only if it still says the same as what the other version says in its own words: whoever writes by one
//! version loses nothing of the other, and never gets back what is out of date.

mod config;
mod control_plane;
mod duration;
mod residue;

use serde_json::{Map, Value};

use super::labels::annotation::CONVERSION_DATA;
use super::labels::{BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP};

/// Why an object can't be converted.
#[derive(Debug, PartialEq, Eq)]
pub enum ConversionError {
    /// There is no such kind in both versions.
    Unknown { kind: String, from: String, to: String },
    /// The object can't be read.
    Unreadable { what: String },
}

impl std::error::Error for ConversionError {}

impl std::fmt::Display for ConversionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { kind, from, to } => write!(f, "a {kind} can't be converted from {from} to {to}"),
            Self::Unreadable { what } => write!(f, "the object can't be read: {what}"),
        }
    }
}

impl From<serde_json::Error> for ConversionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable { what: error.to_string() }
    }
}

/// Says spec and status of an object in the words of the other version.
type Words = fn(&Value) -> Result<Value, serde_json::Error>;

/// A kind in two versions.
struct Pair {
    group: &'static str,
    kind: &'static str,
    old: &'static str,
    hub: &'static str,
    up: Words,
    down: Words,
}

const PAIRS: &[Pair] = &[
    Pair {
        group: BOOTSTRAP_GROUP,
        kind: "OpenshiftAssistedConfig",
        old: "v1alpha1",
        hub: "v1alpha2",
        up: config::up,
        down: config::down,
    },
    Pair {
        group: BOOTSTRAP_GROUP,
        kind: "OpenshiftAssistedConfigTemplate",
        old: "v1alpha1",
        hub: "v1alpha2",
        up: config::template_up,
        down: config::template_down,
    },
    Pair {
        group: CONTROL_PLANE_GROUP,
        kind: "OpenshiftAssistedControlPlane",
        old: "v1alpha2",
        hub: "v1alpha3",
        up: control_plane::up,
        down: control_plane::down,
    },
];

/// An object in another version, such as `bootstrap.cluster.x-k8s.io/v1alpha2`.
///
/// # Errors
/// The kind or one of the versions is unknown, or the object is none.
pub fn convert(object: &Value, wanted: &str) -> Result<Value, ConversionError> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (from, kind) = (text("apiVersion"), text("kind"));
    if from == wanted {
        return Ok(object.clone());
    }
    let of = |pair: &Pair, version: &str| format!("{}/{version}", pair.group);
    let found = PAIRS.iter().filter(|pair| pair.kind == kind).find_map(|pair| {
        let (old, hub) = (of(pair, pair.old), of(pair, pair.hub));
        if from == old && wanted == hub {
            Some((pair.up, pair.down))
        } else if from == hub && wanted == old {
            Some((pair.down, pair.up))
        } else {
            None
        }
    });
    let Some((there, back)) = found else {
        let (kind, from) = (kind.to_owned(), from.to_owned());
        return Err(ConversionError::Unknown { kind, from, to: wanted.to_owned() });
    };
    let said = residue::spec_and_status(object);
    let mut converted = there(&said)?;
    let kept = object["metadata"]["annotations"][CONVERSION_DATA].as_str();
    // What others wrote there, or what can't be read, is no reason to refuse the object.
    if let Some(kept) = kept.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        let plain = back(&converted)?;
        residue::restore(&mut converted, &kept, |candidate| {
            back(candidate).is_ok_and(|words| words == plain)
        });
    }
    let residue = residue::difference(&back(&converted)?, &said);
    let mut result = object.clone();
    result["apiVersion"] = wanted.into();
    residue::replace(&mut result, &converted);
    annotate(&mut result, residue)?;
    Ok(result)
}

/// Keeps what the object can't say in its version, or nothing.
fn annotate(object: &mut Value, residue: Option<Value>) -> Result<(), serde_json::Error> {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(()) };
    match residue {
        Some(residue) => {
            let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(CONVERSION_DATA.to_owned(), serde_json::to_string(&residue)?.into());
            }
        }
        None => {
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(CONVERSION_DATA);
                if annotations.is_empty() {
                    metadata.remove("annotations");
                }
            }
        }
    }
    Ok(())
}
