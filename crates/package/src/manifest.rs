//! Everything that a hub needs before its AgentServiceConfig, in one manifest: what `kubectl kustomize deploy/kustomize` gives, without
//! kustomize, and with the image that was pushed.

use anyhow::{Context, Result};
use assisted_crd::definition;
use assisted_kubeapi::rbac::{ROLES, manifest};
use serde_json::Value;

const NAMESPACE_OBJECT: &str = include_str!("../../../deploy/kustomize/namespace.yaml");
const OPERATOR: &str = include_str!("../../../deploy/kustomize/operator.yaml");
const NETWORK_POLICY: &str = include_str!("../../../deploy/kustomize/network-policy.yaml");

/// Where everything is, unless it is edited.
pub const NAMESPACE: &str = "assisted-installer";

/// Groups of the providers of Cluster API, which are installed by themselves.
const PROVIDERS: [&str; 2] = ["bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"];

/// The definitions of a hub, in YAML.
pub fn definitions() -> impl Iterator<Item = &'static str> {
    let is_of_provider =
        |text: &str| PROVIDERS.iter().any(|group| text.contains(&format!("\n  group: {group}\n")));
    definition::OURS.iter().copied().filter(move |text| !is_of_provider(text))
}

/// The Deployment of the operator, with an image.
///
/// # Errors
/// It is not what it is.
pub fn operator(image: &str) -> Result<Value> {
    let mut operator: Value = serde_yaml_ng::from_str(OPERATOR).context("deploy/kustomize/operator.yaml")?;
    operator["metadata"]["namespace"] = NAMESPACE.into();
    operator["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
    Ok(operator)
}

/// Who may reach the operator, in no namespace.
///
/// # Errors
/// It is not what it is.
pub fn network_policy() -> Result<Value> {
    serde_yaml_ng::from_str(NETWORK_POLICY).context("deploy/kustomize/network-policy.yaml")
}

/// The manifest, with the image of the service.
///
/// # Errors
/// A part of it is not what it is.
pub fn hub(image: &str) -> Result<String> {
    let mut parts = vec![NAMESPACE_OBJECT.to_owned()];
    parts.extend(definitions().map(str::to_owned));
    parts.extend(ROLES.iter().map(|role| manifest(role, NAMESPACE)));
    parts.push(serde_yaml_ng::to_string(&operator(image)?)?);
    let mut policy = network_policy()?;
    policy["metadata"]["namespace"] = NAMESPACE.into();
    parts.push(serde_yaml_ng::to_string(&policy)?);
    Ok(parts
        .iter()
        .map(|part| part.trim_matches('\n').trim_start_matches("---\n"))
        .collect::<Vec<_>>()
        .join("\n---\n")
        + "\n")
}
