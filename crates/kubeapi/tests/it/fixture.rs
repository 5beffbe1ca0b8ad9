//! A small site: its manifests, and changes of them.

use assisted_kubeapi::objects::{Document, Manifests};
use serde_json::{Value, json};

pub const PULL_SECRET: &str = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;

/// The objects of a site, as JSON: ClusterImageSet, ClusterDeployment, AgentClusterInstall, InfraEnv, Secret.
pub fn site() -> [Value; 5] {
    [
        json!({"apiVersion": "hive.openshift.io/v1", "kind": "ClusterImageSet", "metadata": {"name": "release"},
               "spec": {"releaseImage": "quay.io/release:4.22.9-x86_64"}}),
        json!({"apiVersion": "hive.openshift.io/v1", "kind": "ClusterDeployment",
               "metadata": {"name": "demo", "namespace": "site"},
               "spec": {"clusterName": "demo", "baseDomain": "example.com", "pullSecretRef": {"name": "pull"},
                        "platform": {},
                        "clusterInstallRef": {"group": "extensions.hive.openshift.io", "version": "v1beta1",
                                              "kind": "AgentClusterInstall", "name": "demo"}}}),
        json!({"apiVersion": "extensions.hive.openshift.io/v1beta1", "kind": "AgentClusterInstall",
               "metadata": {"name": "demo", "namespace": "site"},
               "spec": {"clusterDeploymentRef": {"name": "demo"}, "imageSetRef": {"name": "release"},
                        "networking": {}, "provisionRequirements": {"controlPlaneAgents": 3}}}),
        json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "InfraEnv",
               "metadata": {"name": "demo", "namespace": "site"},
               "spec": {"pullSecretRef": {"name": "pull"}}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "site"},
               "stringData": {".dockerconfigjson": PULL_SECRET}}),
    ]
}

/// The site, each of whose objects is changed by merging.
pub fn changed(changes: &Value) -> Manifests {
    let mut objects = site().to_vec();
    for (kind, change) in changes.as_object().unwrap() {
        match objects.iter_mut().find(|object| object["kind"] == kind.as_str()) {
            Some(object) => merge(object, change),
            None => objects.push(change.clone()),
        }
    }
    manifests(&objects)
}

pub fn manifests(objects: &[Value]) -> Manifests {
    let mut manifests = Manifests::default();
    for object in objects {
        for document in Document::read(&object.to_string()).unwrap() {
            manifests.add(document).unwrap();
        }
    }
    manifests
}

/// Null takes a field away.
fn merge(object: &mut Value, change: &Value) {
    match change {
        Value::Object(fields) if object.is_object() => {
            let object = object.as_object_mut().unwrap();
            for (name, change) in fields {
                if change.is_null() {
                    object.remove(name);
                } else {
                    merge(object.entry(name.clone()).or_insert(Value::Null), change);
                }
            }
        }
        other => *object = other.clone(),
    }
}
