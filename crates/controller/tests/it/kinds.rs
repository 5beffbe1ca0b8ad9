//! The API of these tests refuses what a real cluster's would.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::pinned_kind;
use serde_json::{Value, json};

use crate::world::World;

async fn write(world: &World, object: Value, status: bool) -> Result<DynamicObject, kube::Error> {
    let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let kind = GroupVersionKind::gvk(group, version, object["kind"].as_str().unwrap());
    let (resource, _) = pinned_kind(&world.admin, &kind).await.unwrap();
    let objects: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(world.admin.clone(), namespace, &resource),
        None => Api::all_with(world.admin.clone(), &resource),
    };
    let name = object["metadata"]["name"].as_str().unwrap();
    let (params, patch) = (PatchParams::default(), Patch::Merge(&object));
    match status {
        true => objects.patch_status(name, &params, &patch).await,
        false => objects.patch(name, &params, &patch).await,
    }
}

#[tokio::test]
async fn wrong_writes_are_refused() {
    let world = World::start().await;
    world.operator("dns", "Available", "all is well").await;
    let pool = json!({"metadata": {"name": "worker"}, "spec": {"paused": false}});
    let pools = ("machineconfiguration.openshift.io/v1", "MachineConfigPool", "machineconfigpools");
    world.apply(pools.0, pools.1, pools.2, None, pool).await;
    world.bare_metal_host("w", json!({}), json!({"online": true})).await;
    let pool = json!({"apiVersion": pools.0, "kind": pools.1, "metadata": {"name": "worker"}});
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "w", "namespace": "openshift-machine-api"},
    });
    let operator = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": "dns"}});
    let with = |object: &Value, part: &str, value: Value| {
        let mut object = object.clone();
        object[part] = value;
        object
    };
    let nameless = json!({"conditions": [{"type": "Available", "status": "True"}]});
    for (object, status, field) in [
        (with(&pool, "spec", json!({"paused": "true"})), false, "spec.paused"),
        (with(&host, "spec", json!({"online": null})), false, "spec.online"),
        (with(&host, "status", json!({"poweredOn": true})), true, "status.errorMessage"),
        (with(&operator, "status", nameless), true, "status.conditions[0].lastTransitionTime"),
    ] {
        let error = write(&world, object.clone(), status).await.unwrap_err().to_string();
        assert!(error.contains(field), "{object}: {error}");
    }
    // A status in the wrong place is not taken.
    let elsewhere = with(&operator, "status", json!({"conditions": []}));
    let kept = write(&world, elsewhere, false).await.unwrap();
    assert_eq!(kept.data["status"]["conditions"][0]["message"], "all is well");
}
