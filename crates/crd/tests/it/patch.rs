//! Objects of others, which are known in part: what is not known stays as it is.

use std::collections::BTreeMap;

use assisted_crd::hive::cluster_deployment::ClusterDeployment;
use assisted_crd::metal3::bare_metal_host::{BareMetalHost, CustomDeploy};
use assisted_crd::patch::merge;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::server::{api, client, kind, whole};

#[test]
fn a_patch_names_what_differs() {
    let before = json!({"kept": 1, "changed": {"inner": "a", "kept": [1]}, "gone": true, "list": [{"a": 1}]});
    let after = json!({"kept": 1, "changed": {"inner": "b", "kept": [1]}, "new": {}, "list": [{"a": 2}]});
    let wanted = json!({"changed": {"inner": "b"}, "gone": null, "new": {}, "list": [{"a": 2}]});
    assert_eq!(merge(&before, &after, None).unwrap(), Some(wanted));
    assert_eq!(merge(&before, &before, Some("7")).unwrap(), None, "nothing new is nothing to write");
    let patch = merge(&before, &after, Some("7")).unwrap().unwrap();
    assert_eq!(patch["metadata"], json!({"resourceVersion": "7"}));
}

/// What a server changes by itself with each write.
fn without_bookkeeping(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for name in ["managedFields", "resourceVersion", "generation"] {
        metadata.remove(name);
    }
    object
}

#[tokio::test]
async fn fields_that_are_not_known_survive() {
    let namespace = "partly";
    let client = client(namespace).await;
    let untyped = api(&client, &kind("BareMetalHost"), Some(namespace));
    let object: DynamicObject = serde_json::from_value(whole(&kind("BareMetalHost"))).unwrap();
    let stored = untyped.create(&PostParams::default(), &object).await.unwrap();
    let stored = serde_json::to_value(stored).unwrap();
    assert!(
        stored["spec"]["raid"].is_object() && stored["spec"]["firmware"].is_object(),
        "fields that no type here has"
    );

    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), namespace);
    let before = hosts.get("example").await.unwrap();
    let mut after = before.clone();
    after.spec.online = false;
    after.spec.image = None;
    after.spec.custom_deploy = Some(CustomDeploy { method: "start_assisted_install".to_owned() });
    after.metadata.annotations =
        Some(BTreeMap::from([("inspect.metal3.io".to_owned(), "disabled".to_owned())]));
    let version = before.resource_version();
    let patch = merge(&before, &after, version.as_deref()).unwrap().unwrap();
    hosts.patch("example", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();

    let mut wanted = stored;
    wanted["spec"]["online"] = false.into();
    wanted["spec"]["customDeploy"]["method"] = "start_assisted_install".into();
    wanted["spec"].as_object_mut().unwrap().remove("image").unwrap();
    wanted["metadata"]["annotations"] = json!({"inspect.metal3.io": "disabled"});
    let now = serde_json::to_value(untyped.get("example").await.unwrap()).unwrap();
    assert_eq!(without_bookkeeping(now), without_bookkeeping(wanted));

    // The same patch again was made of an object that is no longer the newest.
    let late = hosts.patch("example", &PatchParams::default(), &Patch::Merge(&patch)).await;
    assert!(matches!(&late, Err(kube::Error::Api(status)) if status.code == 409), "{late:?}");
}

#[tokio::test]
async fn a_cluster_deployment_keeps_its_platform() {
    let namespace = "platform";
    let client = client(namespace).await;
    let untyped = api(&client, &kind("ClusterDeployment"), Some(namespace));
    let object: DynamicObject = serde_json::from_value(whole(&kind("ClusterDeployment"))).unwrap();
    let stored =
        serde_json::to_value(untyped.create(&PostParams::default(), &object).await.unwrap()).unwrap();
    assert!(stored["spec"]["platform"]["aws"].is_object(), "a field that no type here has");

    let clusters: Api<ClusterDeployment> = Api::namespaced(client.clone(), namespace);
    let before = clusters.get("example").await.unwrap();
    let mut after = before.clone();
    after.finalizers_mut().push("clusterdeployments.agent-install.openshift.io/ai-deprovision".to_owned());
    after.spec.installed = Some(false);
    let patch = merge(&before, &after, None).unwrap().unwrap();
    assert_eq!(patch.as_object().unwrap().len(), 2, "{patch}");
    clusters.patch("example", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();

    let mut wanted = stored;
    wanted["spec"]["installed"] = false.into();
    wanted["metadata"]["finalizers"] =
        json!(["clusterdeployments.agent-install.openshift.io/ai-deprovision"]);
    let now = serde_json::to_value(untyped.get("example").await.unwrap()).unwrap();
    assert_eq!(without_bookkeeping(now), without_bookkeeping(wanted));
}
