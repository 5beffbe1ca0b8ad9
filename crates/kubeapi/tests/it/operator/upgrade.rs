//! Another version of the operator on the same objects: a newer one, an older one again, and the operator that this one replaces.

use std::collections::BTreeMap;

use assisted_crd::agent_install::agent_service_config::AgentServiceConfig;
use assisted_crd::labels::finalizer;
use assisted_kubeapi::operator::apply::kind_of;
use assisted_kubeapi::operator::environment::Environment;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::hub::{Running, condition, limited, object, objects, plain, reason, reconciled, run_pods, touch};
use super::{NAMESPACE, environment, text};
use crate::hub::{Hub, eventually};

/// What the operator made, each with the version that it is of.
async fn versions(hub: &Hub) -> BTreeMap<String, Value> {
    let mut versions = BTreeMap::new();
    for kind in ["ConfigMap", "Deployment", "StatefulSet"] {
        for object in objects(hub, kind).await {
            let metadata = &object["metadata"];
            if metadata["labels"]["app.kubernetes.io/managed-by"] != "assisted-operator" {
                continue;
            }
            let version = match kind {
                "ConfigMap" => &object["data"]["SELF_VERSION"],
                _ => &object["spec"]["template"]["spec"]["containers"][0]["image"],
            };
            versions.insert(format!("{kind} {}", metadata["name"].as_str().unwrap()), version.clone());
        }
    }
    versions
}

/// What must be the same for ever: volumes, keys and passwords.
fn kept(hub: &Hub) -> Vec<Value> {
    let list = hub.get(&["get", "persistentvolumeclaims,secrets", "--namespace", NAMESPACE, "--output=json"]);
    let of = |item: &Value| {
        let metadata = &item["metadata"];
        json!([item["kind"], metadata["name"], metadata["uid"], item["data"], item["spec"]])
    };
    list["items"].as_array().unwrap().iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_changes_what_runs_and_back_and_keeps_what_is_kept() {
    let hub = plain().await;
    let client = limited(&hub).await;
    hub.apply(&text(&json!({})));
    let (old, new) = ("registry.example.com/assisted:1", "registry.example.com/assisted:2");
    let (mut before, mut sets) = (Vec::new(), Vec::new());
    for image in [old, new, old] {
        let of_version = Environment { service_image: image.to_owned(), ..environment() };
        let running = Running::start(client.clone(), of_version);
        let wanted: BTreeMap<_, _> = [
            "ConfigMap assisted-service",
            "Deployment agentinstalladmission",
            "Deployment assisted-service",
            "StatefulSet assisted-image-service",
        ]
        .map(|name| (name.to_owned(), Value::from(image)))
        .into();
        eventually(&format!("{image} is what is to run"), async || versions(&hub).await == wanted).await;
        // What ran before is not taken for what is to run.
        eventually("that it does not run yet is told", async || {
            reason(&hub.client, "DeploymentsHealthy").await == "DeploymentFailure"
        })
        .await;
        reconciled(&hub.client).await;
        if !before.is_empty() {
            let (_, _, told) = condition(&hub.client, "DeploymentsHealthy").await.unwrap();
            assert_eq!(
                told,
                "Deployment agentinstalladmission updated replicas does not match desired replicas"
            );
        }
        run_pods(&hub.client, NAMESPACE).await;
        eventually("it runs", async || {
            reason(&hub.client, "DeploymentsHealthy").await == "DeploymentSucceeded"
        })
        .await;
        running.stop().await;
        let now = kept(&hub);
        assert!(before.is_empty() || before == now, "{image}: {before:?} {now:?}");
        before = now;
        sets.push(object(&hub, "StatefulSet", "assisted-image-service").await["metadata"]["uid"].clone());
    }
    assert!(before.len() >= 7, "two volumes and five Secrets: {before:?}");
    assert!(sets.iter().all(|uid| *uid == sets[0]), "its volume would go with it");
}

/// What the replaced operator made, with the fields that count here. An older version of it had a Deployment for the image service, which
/// somebody else may have made as well.
fn left(owner: &Value) -> Vec<Value> {
    let metadata =
        |name: &str| json!({"name": name, "namespace": NAMESPACE, "ownerReferences": owner.clone()});
    let pods = |name: &str, variable: &str| {
        let container = json!({"name": name, "image": "registry.example.com/replaced:1",
                               "env": [{"name": variable, "value": "TLS_AES_128_GCM_SHA256"}]});
        json!({"replicas": 1, "selector": {"matchLabels": {"app": name}},
               "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}})
    };
    let claim =
        |size: &str| json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    let mut service = pods("assisted-service", "TLS_CIPHER_SUITES");
    service["strategy"] = json!({"type": "Recreate"});
    let mut set = pods("assisted-image-service", "TLS_CIPHER_SUITES");
    set["serviceName"] = "assisted-image-service".into();
    set["podManagementPolicy"] = "Parallel".into();
    set["volumeClaimTemplates"] =
        json!([{"metadata": {"name": "image-service-data"}, "spec": claim("10Gi")}]);
    let mut set_metadata = metadata("assisted-image-service");
    set_metadata["finalizers"] = json!([finalizer::IMAGE_SERVICE]);
    let secret = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(name), "stringData": data});
    vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("assisted-service"),
               "data": {"AUTH_TYPE": "local", "JWKS_URL": "https://example.com", "TLS_CIPHER_SUITES": "TLS_AES_128_GCM_SHA256"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("assisted-service"),
               "spec": service}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
               "metadata": {"name": "assisted-image-service", "namespace": NAMESPACE},
               "spec": pods("assisted-image-service", "OTHER")}),
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": set_metadata, "spec": set}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata("assisted-service"),
               "spec": claim("100Gi")}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata("postgres"),
               "spec": claim("10Gi")}),
        secret(
            "assisted-servicelocal-auth",
            json!({"ec-private-key.pem": "private", "ec-public-key.pem": "public"}),
        ),
        secret("postgres", json!({"db.password": "secret", "db.host": "localhost", "db.user": "admin"})),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_replaced_operator_left_is_taken_over() {
    let hub = plain().await;
    let client = limited(&hub).await;
    let images = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}});
    hub.apply(&text(&json!({"spec": {"imageStorage": images}})));
    let configs: Api<AgentServiceConfig> = Api::all(hub.client.clone());
    let uid = configs.get("agent").await.unwrap().uid().unwrap();
    let owner = json!([{"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "AgentServiceConfig", "name": "agent",
                        "uid": uid, "controller": true, "blockOwnerDeletion": true}]);
    let params =
        PostParams { field_manager: Some("assisted-service-operator".to_owned()), ..PostParams::default() };
    for object in left(&owner) {
        let api = kind_of(&object).unwrap().api(&hub.client, NAMESPACE);
        api.create(&params, &serde_json::from_value(object).unwrap()).await.unwrap();
    }
    let before = kept(&hub);
    let service = object(&hub, "Deployment", "assisted-service").await["metadata"]["uid"].clone();
    let set = object(&hub, "StatefulSet", "assisted-image-service").await["metadata"]["uid"].clone();

    let running = Running::start(client, environment());
    reconciled(&hub.client).await;
    // The service would not start with what it can't heed.
    let settings = object(&hub, "ConfigMap", "assisted-service").await["data"].clone();
    assert_eq!((&settings["AUTH_TYPE"], &settings["JWKS_URL"]), (&json!("local"), &Value::Null));
    assert_eq!(settings["TLS_CIPHER_SUITES"], Value::Null);
    let now = object(&hub, "Deployment", "assisted-service").await;
    assert_eq!(now["metadata"]["uid"], service);
    let container = &now["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "registry.example.com/assisted:1");
    assert!(!container["env"].to_string().contains("TLS_CIPHER_SUITES"), "{container}");
    // Its volume is another one: it is made anew, and nothing holds the old one up.
    let now = object(&hub, "StatefulSet", "assisted-image-service").await;
    assert_ne!(now["metadata"]["uid"], set);
    assert_eq!(now["metadata"]["finalizers"], Value::Null);
    let storage = &now["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
    assert_eq!(storage, "20Gi");
    assert!(!now["spec"]["template"].to_string().contains("TLS_CIPHER_SUITES"), "{now}");
    let after = kept(&hub);
    assert!(before.iter().all(|object| after.contains(object)), "{before:?} {after:?}");

    // A Deployment of the image service goes if it was that operator's, and not if it is somebody else's.
    let deployments: Api<Deployment> = Api::namespaced(hub.client.clone(), NAMESPACE);
    assert!(deployments.get_opt("assisted-image-service").await.unwrap().is_some());
    let owned = json!({"metadata": {"ownerReferences": owner}});
    let params = PatchParams::default();
    deployments.patch("assisted-image-service", &params, &Patch::Merge(owned)).await.unwrap();
    touch(&hub).await;
    eventually("it is gone", async || deployments.get_opt("assisted-image-service").await.unwrap().is_none())
        .await;
    running.stop().await;
}
