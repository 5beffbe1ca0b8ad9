//! Services: under which names pods reach what runs.

use serde_json::{Value, json};

use super::{Input, annotated, labelled, object};
use crate::operator::{IMAGE_SERVICE, SERVICE, WEBHOOK};

/// OpenShift makes a certificate for a service with this annotation, in the secret that it names.
const CERTIFICATE: &str = "service.beta.openshift.io/serving-cert-secret-name";

pub(super) fn api(input: &Input<'_>) -> Value {
    let ports = json!([port(SERVICE, 8090), port(&format!("{SERVICE}-http"), 8091)]);
    labelled(service(input, SERVICE, &ports), "app", SERVICE)
}

pub(super) fn images(input: &Input<'_>) -> Value {
    let ports = json!([port(IMAGE_SERVICE, 8080), port(&format!("{IMAGE_SERVICE}-http"), 8081)]);
    labelled(service(input, IMAGE_SERVICE, &ports), "app", SERVICE)
}

pub(super) fn webhook(input: &Input<'_>) -> Value {
    let ports = json!([{"name": WEBHOOK, "port": 443, "targetPort": 9443, "protocol": "TCP"}]);
    labelled(service(input, WEBHOOK, &ports), "app", WEBHOOK)
}

fn port(name: &str, port: u16) -> Value {
    json!({"name": name, "port": port, "targetPort": port, "protocol": "TCP"})
}

fn service(input: &Input<'_>, name: &str, ports: &Value) -> Value {
    let mut service = object(input, "v1", "Service", name);
    service["spec"] = json!({"type": "ClusterIP", "selector": {"app": name}, "ports": ports});
    if input.facts.is_openshift { annotated(service, CERTIFICATE, name) } else { service }
}
