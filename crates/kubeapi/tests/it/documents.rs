//! Files of objects, and what is wrong with some.

use assisted_kubeapi::objects::{Document, Malformed, Manifests};
use serde_json::json;

use crate::fixture::site;

#[test]
fn documents_and_lists_are_read() {
    let text = "---\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: site}\n---\n".to_owned()
        + &json!({"apiVersion": "v1", "kind": "List", "items": site()}).to_string();
    let documents = Document::read(&text).unwrap();
    assert_eq!(documents.len(), 6);
    let mut manifests = Manifests::default();
    documents.into_iter().for_each(|document| manifests.add(document).unwrap());
    assert_eq!(manifests.others(), ["Namespace site"]);
    assert_eq!(manifests.cluster_deployments().count(), 1);
    let again = Document::read(&site()[4].to_string()).unwrap().remove(0);
    let told = manifests.add(again).unwrap_err().to_string();
    assert_eq!(told, "Secret \"site/pull\" stands there twice; which of the two is meant can't be told");
}

#[test]
fn what_is_no_object_is_told_by_its_place() {
    for (text, expected) in [
        ("a: [", "document 1 is neither YAML nor JSON"),
        ("---\nkind: A\n---\n", "document 1 is no object: it has no apiVersion"),
        ("apiVersion: v1\nkind: Secret\n", "document 1 is no object: it has no metadata.name"),
        ("- 1", "document 1 is no object"),
    ] {
        let told = Document::read(text).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{text}: {told}");
    }
}

#[test]
fn a_field_that_no_kind_has_is_told_by_its_path() {
    for (kind, place, path) in [
        (2, "/spec/networking/machineNetworks", "spec.networking.machineNetworks"),
        (2, "/spec/apiVips", "spec.apiVips"),
        (3, "/spec/clusterReference", "spec.clusterReference"),
    ] {
        let mut object = site()[kind].clone();
        let (parent, field) = place.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[field] = json!(["10.0.0.1"]);
        let Malformed::Unknown { path: told, .. } = Document::read(&object.to_string()).unwrap_err() else {
            panic!("{place}");
        };
        assert_eq!(told, path);
        // One that is empty asks for nothing.
        object.pointer_mut(parent).unwrap()[field] = json!([]);
        assert!(Document::read(&object.to_string()).is_ok(), "{place}");
    }
}

#[test]
fn a_secret_that_is_wrong_is_not_quoted() {
    let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "data": {"a": "hunter2!"}});
    let told = Document::read(&object.to_string()).unwrap_err().to_string();
    assert!(told.contains("Secret \"pull\"") && !told.contains("hunter2"), "{told}");
    let object = json!({"apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall",
        "metadata": {"name": "a"}, "spec": {"provisionRequirements": {"controlPlaneAgents": "three"}}});
    let told = Document::read(&object.to_string()).unwrap_err().to_string();
    assert!(told.contains("AgentClusterInstall \"a\"") && told.contains("three"), "{told}");
}
