//! What the webhooks answer, and that a real API server asks them.

mod agent;
mod agent_classification;
mod agent_cluster_install;
mod answers;
mod certificate;
mod infra_env;
mod listener;
mod platform;
mod server;

use assisted_kubeapi::admission::review::{self, Resource};
use assisted_kubeapi::admission::{Verdict, WEBHOOKS};
use serde_json::{Value, json};

/// The review of a change, as an API server sends it.
pub fn request(resource: &Resource, operation: &str, old: Option<&Value>, new: Option<&Value>) -> Value {
    let Resource { group, version, resource } = resource;
    let triple = json!({"group": group, "version": version, "resource": resource});
    let kind = json!({"group": group, "version": version, "kind": "Kind"});
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": triple, "requestKind": kind,
        "requestResource": triple, "name": "example", "namespace": "site", "operation": operation,
        "userInfo": {"username": "admin", "groups": ["people"]}, "object": new, "oldObject": old,
        "dryRun": false, "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }})
}

/// The resource of a webhook.
pub fn resource(webhook: &str) -> Resource {
    let entry = WEBHOOKS.iter().find(|entry| entry.name == webhook).unwrap();
    let [group, version, resource] = (entry.resource)();
    Resource { group, version, resource }
}

/// What a webhook says about a review.
pub fn verdict(webhook: &str, review: &Value) -> Verdict {
    let body = review.to_string();
    let request = review::read(body.as_bytes()).unwrap();
    WEBHOOKS.iter().find(|entry| entry.name == webhook).unwrap().review(&request)
}

pub fn created(webhook: &str, new: &Value) -> Verdict {
    verdict(webhook, &request(&resource(webhook), "CREATE", None, Some(new)))
}

pub fn updated(webhook: &str, old: &Value, new: &Value) -> Verdict {
    verdict(webhook, &request(&resource(webhook), "UPDATE", Some(old), Some(new)))
}

/// Code and text of a denial; `None`: it is none.
pub fn denial(verdict: &Verdict) -> Option<(u16, &str)> {
    match verdict {
        Verdict::Denied(denial) => Some((denial.reason.code(), &denial.message)),
        _ => None,
    }
}

/// An object with changes merged in: `null` takes a member away.
pub fn with(base: &Value, change: &Value) -> Value {
    let mut value = base.clone();
    merge(&mut value, change);
    value
}

fn merge(value: &mut Value, change: &Value) {
    let Value::Object(change) = change else {
        *value = change.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (name, change) in change {
        if change.is_null() {
            value.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut value[name], change);
        }
    }
}
