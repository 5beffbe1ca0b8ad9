//! What all pods have in common.

use std::collections::BTreeMap;

use assisted_base::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Input;

/// The template of a pod with these containers and volumes.
pub(super) fn template(
    input: &Input<'_>,
    name: &str,
    account: &str,
    containers: &[Value],
    volumes: &[Value],
) -> Value {
    let operator = &input.facts.operator;
    let mut spec = json!({
        "serviceAccountName": account,
        "containers": containers,
        "volumes": volumes,
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        // Variables that tell of other services of the namespace could have the names of settings: a service `db` makes a `DB_PORT`.
        "enableServiceLinks": false,
    });
    if !operator.node_selector.is_empty() {
        spec["nodeSelector"] = json!(operator.node_selector);
    }
    if !operator.tolerations.is_empty() {
        spec["tolerations"] = json!(operator.tolerations);
    }
    if !input.facts.is_openshift {
        if !operator.pull_secrets.is_empty() {
            spec["imagePullSecrets"] = json!(operator.pull_secrets);
        }
        // OpenShift chooses a group that volumes belong to.
        spec["securityContext"]["fsGroup"] = 0.into();
    }
    json!({"metadata": {"labels": {"app": name}}, "spec": spec})
}

/// Adds an annotation to a template: a change of it starts the pods anew.
pub(super) fn annotate(template: &mut Value, name: &str, value: &str) {
    template["metadata"]["annotations"][format!("agent-install.openshift.io/{name}")] = value.into();
}

/// A digest of texts under their names; empty for nothing.
pub(super) fn hash<'a>(members: impl IntoIterator<Item = (&'a String, &'a [u8])>) -> String {
    let members: BTreeMap<_, _> = members.into_iter().collect();
    if members.is_empty() {
        return String::new();
    }
    let mut text = Vec::new();
    for (name, value) in members {
        // With their lengths, so that nothing is moved from one to another unseen.
        text.extend_from_slice(format!("{}:{}:", name.len(), value.len()).as_bytes());
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(value);
    }
    hex::encode(&Sha256::digest(&text))
}

/// What no container may do.
pub(super) fn confined(mut container: Value) -> Value {
    container["securityContext"] =
        json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    container
}

/// The image of this program.
pub(super) fn service_image(input: &Input<'_>) -> String {
    let image = &input.environment.service_image;
    if image.is_empty() { input.facts.operator.image.clone() } else { image.clone() }
}

/// A probe over HTTP.
pub(super) fn probe(path: &str, port: u16, is_https: bool, delay: u32) -> Value {
    let scheme = if is_https { "HTTPS" } else { "HTTP" };
    json!({"httpGet": {"path": path, "port": port, "scheme": scheme}, "initialDelaySeconds": delay})
}

/// A variable.
pub(super) fn variable(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

/// The proxies, where there are any.
pub(super) fn proxies(input: &Input<'_>) -> Vec<(&'static str, String)> {
    let environment = input.environment;
    if environment.http_proxy.is_empty() && environment.https_proxy.is_empty() {
        return Vec::new();
    }
    let set = [
        ("HTTP_PROXY", environment.http_proxy.clone()),
        ("HTTPS_PROXY", environment.https_proxy.clone()),
        ("NO_PROXY", environment.no_proxy.clone()),
    ];
    set.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}
