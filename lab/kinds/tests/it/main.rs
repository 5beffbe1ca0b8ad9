//! The kinds against the published definitions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests too")]

use std::collections::BTreeSet;

use assisted_lab_kinds::{Kind, kinds, operators};
use serde_json::Value;

/// The version of a definition that a kind is.
fn version<'a>(definition: &'a Value, kind: &Kind) -> &'a Value {
    let versions = definition["spec"]["versions"].as_array().unwrap();
    versions.iter().find(|version| version["name"] == kind.version).unwrap()
}

fn is_open(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

/// What ours has that theirs has not, or has otherwise.
fn compare(place: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    if ours["type"] != theirs["type"] {
        found.push(format!("{place}: type {} is published as {}", ours["type"], theirs["type"]));
        return;
    }
    if is_open(ours) {
        return;
    }
    for name in ["nullable", "format", "x-kubernetes-int-or-string"] {
        let told = ours.get(name).filter(|value| **value != false);
        // Of integers the published ones tell the width too.
        if ours["type"] != "integer"
            && ours["type"] != "number"
            && told != theirs.get(name).filter(|value| **value != false)
        {
            found.push(format!("{place}: {name} {told:?} is published as {:?}", theirs.get(name)));
        }
    }
    if let Some(values) = ours.get("additionalProperties") {
        compare(&format!("{place}.*"), values, &theirs["additionalProperties"], found);
    }
    if let Some(items) = ours.get("items") {
        compare(&format!("{place}[]"), items, &theirs["items"], found);
    }
    if ours["type"] != "object" || ours.get("additionalProperties").is_some() {
        return;
    }
    for (name, property) in ours["properties"].as_object().into_iter().flatten() {
        match theirs["properties"].get(name) {
            // Every object has these.
            Some(known) => compare(&format!("{place}.{name}"), property, known, found),
            None if NO_MORE_PUBLISHED.contains(&format!("{place}.{name}").as_str()) => {}
            None => found.push(format!("{place}.{name} is not published")),
        }
    }
    // What has a default may be left out.
    let has_default = |name: &str| theirs["properties"][name].get("default").is_some();
    let required = |schema: &Value| -> BTreeSet<String> {
        let names = schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap());
        names.filter(|name| !has_default(name)).map(str::to_owned).collect()
    };
    if required(ours) != required(theirs) {
        found.push(format!("{place}: required {:?} is published as {:?}", required(ours), required(theirs)));
    }
}

/// What the newest definitions have no more: older ones have it, and objects that the reference lists are written with it.
const NO_MORE_PUBLISHED: [&str; 3] = [
    "StorageCluster.spec.manageNodes",
    "ForkliftController.spec.olm_managed",
    "DataScienceCluster.spec.components.kserve.serving",
];

/// Published definitions whose copy has an empty list of subresources, though their status is one: the controller's
/// rights name `clusteroperators/status`.
const WITHOUT_SUBRESOURCES: [&str; 1] = ["ClusterOperator"];

#[test]
fn ours_say_what_the_published_ones_say() {
    let (mut found, mut judged) = (Vec::new(), Vec::new());
    let of_operators = operators().unwrap().into_iter().flat_map(|each| each.kinds);
    for kind in kinds().unwrap().into_iter().chain(of_operators) {
        let Some(theirs) = kind.published().unwrap() else { continue };
        let ours = kind.definition().unwrap();
        let name = kind.kind.as_str();
        for pointer in ["/spec/group", "/spec/scope", "/spec/names/kind", "/spec/names/plural"] {
            if ours.pointer(pointer) != theirs.pointer(pointer) {
                found.push(format!("{name}: {pointer} is published as {:?}", theirs.pointer(pointer)));
            }
        }
        let (ours, theirs) = (version(&ours, &kind), version(&theirs, &kind));
        let has_status = |version: &Value| version["subresources"].get("status").is_some();
        if has_status(ours) != (has_status(theirs) || WITHOUT_SUBRESOURCES.contains(&name)) {
            found.push(format!("{name}: subresources {}", theirs["subresources"]));
        }
        let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
        compare(name, &schema(ours), &schema(theirs), &mut found);
        judged.push(kind.kind.clone());
    }
    assert!(found.is_empty(), "{found:#?}");
    // Those that are kept are judged for sure.
    for kind in [
        "ClusterOperator",
        "ClusterVersion",
        "Proxy",
        "MachineConfigPool",
        "BareMetalHost",
        "Provisioning",
        "AgentServiceConfig",
    ] {
        assert!(judged.iter().any(|judged| judged == kind), "{kind}: {judged:?}");
    }
}
