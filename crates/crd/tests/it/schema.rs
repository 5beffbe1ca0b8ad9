//! Each type against its published schema, both ways.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::kinds::{self, Kind};
use crate::published;
use crate::sample;
use crate::walker::Findings;

/// Where a type differs from what is published, and why that is so. A kind, the end of a place with what is found there.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("OpenshiftAssistedConfig v1alpha2", STATUS_OF_CONDITIONS, "the type is Kubernetes' own"),
    ("OpenshiftAssistedControlPlane v1alpha3", STATUS_OF_CONDITIONS, "the type is Kubernetes' own"),
];

const STATUS_OF_CONDITIONS: &str = ".status.conditions[].status: a text is published with a list of values";

#[test]
fn types_have_the_published_fields_types_and_values() {
    let mut found = BTreeSet::new();
    for kind in kinds::all() {
        let findings = Findings::new(kind.whole, kind.is_ours());
        (kind.walk)(&published::schema(&kind), &findings);
        found.extend(findings.take().into_iter().map(|finding| format!("{} {finding}", kind.name())));
    }
    let mut used = BTreeSet::new();
    found.retain(|finding| {
        let known =
            DIFFERENCES.iter().find(|(kind, end, _)| finding.starts_with(kind) && finding.ends_with(end));
        used.extend(known.map(|(kind, end, _)| (*kind, *end)));
        known.is_none()
    });
    assert!(found.is_empty(), "{found:#?}");
    let unused: Vec<_> = DIFFERENCES.iter().filter(|(kind, end, _)| !used.contains(&(*kind, *end))).collect();
    assert!(unused.is_empty(), "these differ no more: {unused:?}");
}

/// A whole object of a kind.
pub fn object(kind: &Kind, fields: Value) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), format!("{}/{}", kind.group, kind.version).into());
    object.insert("kind".to_owned(), kind.kind.clone().into());
    object.insert("metadata".to_owned(), Value::Object(Map::new()));
    object.insert("spec".to_owned(), Value::Object(Map::new()));
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}

/// Finds what of `ours` is not the same in `theirs`. Entries of lists have to be the same altogether.
fn differs(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, ours) in ours {
                let place = format!("{place}.{name}");
                match theirs.get(name) {
                    Some(theirs) => differs(&place, ours, theirs, found),
                    None => found.push(format!("{place} was not there")),
                }
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{place}: {theirs} has become {ours}")),
    }
}

#[test]
fn what_is_read_with_all_fields_is_written_with_all_fields() {
    let mut found = Vec::new();
    for kind in kinds::all() {
        let whole = object(&kind, sample::full(&published::schema(&kind), "", &|_| None));
        match (kind.round_trip)(&whole) {
            Ok(again) => {
                differs(&kind.name(), &again, &whole, &mut found);
                if kind.whole {
                    differs(&kind.name(), &whole, &again, &mut found);
                }
            }
            Err(error) => found.push(format!("{}: {error}", kind.name())),
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Only fields that are required, and those that hold others; and these come back, no fewer and no more: a field that is
/// required is written when it is empty, one that is not is left out.
#[test]
fn what_is_empty_is_left_out_unless_it_is_required() {
    let mut found = Vec::new();
    for kind in kinds::all() {
        let mut least = sample::least(&published::schema(&kind));
        if let Value::Object(fields) = &mut least {
            fields.retain(|name, value| {
                name != "metadata" && (name != "status" || value != &serde_json::json!({}))
            });
        }
        let least = object(&kind, least);
        match (kind.round_trip)(&least) {
            Ok(again) => {
                differs(&kind.name(), &again, &least, &mut found);
                if kind.whole {
                    differs(&kind.name(), &least, &again, &mut found);
                }
            }
            Err(error) => found.push(format!("{}: {error}", kind.name())),
        }
    }
    // Published with an empty default: a server would write it, too.
    found.retain(|finding| !finding.ends_with("Ref.name was not there"));
    assert!(found.is_empty(), "{found:#?}");
}

/// One object that can't be read would hide all others of its kind.
#[test]
fn an_object_without_anything_can_be_read() {
    for kind in kinds::all() {
        for text in [r#"{"metadata": {"name": "bare"}}"#, r#"{"metadata": {}, "spec": {}, "unknown": 1}"#] {
            let read = (kind.round_trip)(&serde_json::from_str(text).unwrap());
            assert!(read.is_ok(), "{}: {read:?}", kind.name());
        }
    }
}
