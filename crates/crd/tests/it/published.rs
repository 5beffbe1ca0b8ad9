//! The definitions that are kept here, and whether they are the published ones.

use std::path::PathBuf;

use assisted_crd::definition;
use assisted_testkit::skip;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::kinds::{self, Kind};

/// All definitions.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let mut all = definition::read(definition::OURS).unwrap();
    all.extend(definition::read(definition::OTHERS).unwrap());
    all
}

/// The definition of a kind.
pub fn of(kind: &Kind) -> CustomResourceDefinition {
    let name = format!("{}.{}", kind.plural, kind.group);
    let found = definitions().into_iter().find(|definition| definition.metadata.name.as_ref() == Some(&name));
    found.unwrap_or_else(|| panic!("there is no definition {name}"))
}

/// The published schema of a kind.
pub fn schema(kind: &Kind) -> Value {
    let versions = of(kind).spec.versions;
    let version = versions.into_iter().find(|version| version.name == kind.version).unwrap();
    serde_json::to_value(version.schema.unwrap().open_api_v3_schema.unwrap()).unwrap()
}

#[test]
fn each_type_has_a_definition_and_each_served_version_a_type() {
    let kinds = kinds::all();
    for kind in &kinds {
        assert_eq!(of(kind).spec.names.kind, kind.kind);
    }
    for definition in definition::read(definition::OURS).unwrap() {
        for version in definition.spec.versions.iter().filter(|version| version.served) {
            let has_type =
                |kind: &&Kind| kind.plural == definition.spec.names.plural && kind.version == version.name;
            let types: Vec<_> = kinds.iter().filter(has_type).collect();
            assert_eq!(types.len(), 1, "{} {}", definition.spec.names.kind, version.name);
            assert!(types[0].whole, "{} is ours", types[0].name());
        }
    }
}

/// Without what is said to people.
fn without_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A property of that name is an object.
            fields.retain(|name, value| name != "description" || !value.is_string());
            fields.values_mut().for_each(without_descriptions);
        }
        Value::Array(values) => values.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}

/// Kinds that nobody has published.
const OWN: [&str; 1] = ["openshiftassistedcontrolplanetemplates.controlplane.cluster.x-k8s.io"];

const PLANES: &str = "openshiftassistedcontrolplanes.controlplane.cluster.x-k8s.io";

const INSTALLS: &str = "agentclusterinstalls.extensions.hive.openshift.io";

/// Where definitions depart from the published ones, deliberately: a place in the newest version of one, and why (ADR 21, ADR 23).
const DEPARTURES: [(&str, &str, &str); 7] = [
    (INSTALLS, "properties/spec/properties/onClusterLayering", "image mode at installation is ours"),
    (PLANES, "properties/spec/properties/version", "a topology writes the version there"),
    (PLANES, "properties/spec/required", "the version is in one of two places"),
    (PLANES, "properties/spec/x-kubernetes-validations", "and in both only if they agree"),
    (PLANES, "properties/spec/properties/machineTemplate/properties/spec", "a topology writes there, too"),
    (
        PLANES,
        "properties/spec/properties/machineTemplate/required",
        "the infrastructure is in one of two places",
    ),
    (PLANES, "properties/spec/properties/machineTemplate/x-kubernetes-validations", "and at least in one"),
];

/// Takes the departures back: what is left is what is published.
fn without_departures(name: &str, ours: &mut Value, theirs: &Value) {
    for (_, place, why) in DEPARTURES.iter().filter(|(known, ..)| *known == name) {
        let newest = ours["spec"]["versions"].as_array().unwrap().len() - 1;
        let place = format!("/spec/versions/{newest}/schema/openAPIV3Schema/{place}");
        let published = theirs.pointer(&place);
        assert_ne!(ours.pointer(&place), published, "{place} departs no more ({why})");
        let (parent, member) = place.rsplit_once('/').unwrap();
        let parent = ours.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match published {
            Some(published) => parent.insert(member.to_owned(), published.clone()),
            None => parent.remove(member),
        };
    }
}

#[test]
fn ours_say_what_the_published_ones_say() {
    let Some(folder) = std::env::var_os("ASSISTED_PUBLISHED_CRDS").map(PathBuf::from).or_else(beside) else {
        skip("the published definitions are not here");
        return;
    };
    for text in definition::OURS.iter().chain(definition::OTHERS) {
        let mut ours: Value = serde_yaml_ng::from_str(text).unwrap();
        let name = ours["metadata"]["name"].as_str().unwrap().to_owned();
        let (group, plural) =
            (ours["spec"]["group"].as_str().unwrap(), ours["spec"]["names"]["plural"].as_str().unwrap());
        let file = folder.join(format!("{group}/{group}_{plural}.yaml"));
        if OWN.contains(&name.as_str()) {
            assert!(!file.exists(), "{name} is published by now");
            continue;
        }
        let mut theirs: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        without_descriptions(&mut theirs);
        without_departures(&name, &mut ours, &theirs);
        assert_eq!(ours["spec"], theirs["spec"], "{}", file.display());
        assert_eq!(ours["metadata"]["name"], theirs["metadata"]["name"]);
    }
}

/// Without these labels the core of Cluster API finds no object of a kind.
#[test]
fn definitions_of_providers_tell_which_version_fits_which_contract() {
    for definition in definition::read(definition::OURS).unwrap() {
        if definition.spec.group.ends_with(".cluster.x-k8s.io") {
            let labels = definition.metadata.labels.unwrap();
            let versions = &definition.spec.versions;
            let is_stored = |name: &str| {
                let version = labels.get(name)?;
                let found = versions.iter().find(|found| found.name == *version).unwrap();
                assert!(found.served);
                Some(found.storage)
            };
            assert_eq!(is_stored("cluster.x-k8s.io/v1beta2"), Some(true));
            // A kind of one version is of the newer contract alone.
            assert_eq!(is_stored("cluster.x-k8s.io/v1beta1"), (versions.len() > 1).then_some(false));
        }
    }
}

/// Where the published definitions are on the machines that this is written on.
fn beside() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/crds");
    folder.is_dir().then_some(folder)
}
