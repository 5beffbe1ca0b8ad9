//! Clusters that were installed by the agent-based installer: the service runs on one of their own hosts and goes away in
//! the middle, so that the cluster itself says when it is complete (installer-and-controller §B6.5, §B12.2).

use std::collections::BTreeMap;
use std::path::Path;

use assisted_base::error::chain;
use assisted_wire::cluster::Cluster;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::{CLUSTER_VERSION, is_absent, of_kubeconfig, status, text};
use crate::context::{Context, Exit};
use crate::error::{Failure, ReconcileError};
use crate::wait::poll_until;
use crate::{dns, finish, node};

/// How the cluster names this installer.
pub(crate) const INVOKER: &str = "agent-installer";

const OPERATORS: &str = "olm-operator-manifests";
const METADATA: &str = ".metadata.yaml";
const MASTER: &str = "node-role.kubernetes.io/master";
const PLACEHOLDERS: [&str; 3] = ["usernameplaceholder", "passwordplaceholder", "vcenterplaceholder"];

/// What an operator needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: String,
    subscription_name: String,
    #[serde(default)]
    manifests: Vec<String>,
}

/// A single node: there is no service, and nobody else to wait for.
pub(crate) async fn single(context: &Context) -> Exit {
    let stop = CancellationToken::new();
    let kubeconfig = &context.config.paths.bootstrap_kubeconfig;
    tokio::select! {
        exit = wait(context, false, 0) => exit,
        // What could not be configured until then is not waited for.
        () = async { operators(context, Some(kubeconfig), &stop).await; std::future::pending().await } => Exit::Complete,
    }
}

/// Applies the manifests of operators, told by a ConfigMap, when OLM has brought them.
pub(crate) async fn operators(context: &Context, kubeconfig: Option<&Path>, stop: &CancellationToken) {
    let done = poll_until(stop, context.config.intervals.resync, None, async || {
        match apply(context, kubeconfig).await {
            Ok(()) => Some(true),
            Err(error @ Failure::Terminal(_)) => {
                warn!(error = chain(&error), "operators are not configured");
                Some(false)
            }
            Err(error @ Failure::Retryable(_)) => {
                info!(error = chain(&error), "operators are not configured yet");
                None
            }
        }
    });
    if done.await == Ok(true) {
        info!("operators are configured");
    }
}

async fn apply(context: &Context, kubeconfig: Option<&Path>) -> Result<(), Failure> {
    let maps = Api::<ConfigMap>::namespaced(context.kube.clone(), &context.config.namespace);
    let map = maps.get(OPERATORS).await.map_err(|error| match status(&error) {
        Some(401 | 403) => Failure::Terminal(error.into()),
        _ => Failure::from(error),
    })?;
    let data = map.data.unwrap_or_default();
    let wanted = read(&data)?;
    if wanted.is_empty() {
        return Ok(());
    }
    let administrator = match kubeconfig {
        Some(path) => of_kubeconfig(path).await?,
        None => finish::administrator(context).await?,
    };
    let mut failed = Vec::new();
    for (operator, (metadata, manifests)) in wanted {
        match configure(context, &administrator, &metadata, &manifests).await {
            Ok(()) => info!(operator, "its manifests are applied"),
            Err(error) => failed.push((operator, error)),
        }
    }
    Ok(ReconcileError::of_several(failed)?)
}

type Wanted = BTreeMap<String, (Metadata, Vec<Vec<u8>>)>;

/// Reads the ConfigMap: metadata by operator, and the manifests that it names.
fn read(data: &BTreeMap<String, String>) -> Result<Wanted, Failure> {
    let mut wanted = Wanted::new();
    for (key, value) in data {
        let Some(operator) = key.strip_suffix(METADATA) else { continue };
        let metadata: Metadata = serde_yaml_ng::from_str(value)
            .map_err(|error| Failure::Terminal(ReconcileError::malformed(key)(error)))?;
        let manifests = metadata.manifests.iter().map(|name| {
            let content = data.get(name);
            let content = content.ok_or_else(|| ReconcileError::not_yet(format!("{name} is missing")))?;
            STANDARD.decode(content.trim()).map_err(ReconcileError::malformed(name))
        });
        let manifests = manifests.collect::<Result<_, ReconcileError>>()?;
        wanted.insert(operator.to_owned(), (metadata, manifests));
    }
    Ok(wanted)
}

async fn configure(
    context: &Context,
    administrator: &Client,
    metadata: &Metadata,
    manifests: &[Vec<u8>],
) -> Result<(), ReconcileError> {
    let Metadata { namespace, subscription_name, .. } = metadata;
    finish::service_version(&context.kube, namespace, subscription_name).await?;
    // One that can't be applied yet may wait for one that comes after it.
    let mut failed = Vec::new();
    for (number, manifest) in manifests.iter().enumerate() {
        if let Err(error) = finish::apply(administrator, manifest).await {
            failed.push((format!("manifest {}", number + 1), error));
        }
    }
    ReconcileError::of_several(failed)
}

/// Waits until the cluster's version is available and as many control-plane nodes are there as it has.
pub(crate) async fn wait(context: &Context, remove_taints: bool, control_plane: u32) -> Exit {
    let mut available = false;
    loop {
        if remove_taints {
            untaint(context).await;
        }
        available = available || is_available(&context.kube).await;
        if available && (control_plane == 0 || masters(&context.kube).await >= control_plane as usize) {
            return Exit::Complete;
        }
        sleep(context.config.intervals.operators).await;
    }
}

async fn is_available(kube: &Client) -> bool {
    let version = CLUSTER_VERSION.all(kube).get("version").await;
    let version = version.map_err(|error| {
        if !is_absent(&error) {
            warn!(error = chain(&error), "the cluster's version is not known");
        }
    });
    version.is_ok_and(|version| has_come(&version))
}

fn has_come(version: &DynamicObject) -> bool {
    let conditions = version.data.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| text(condition, "/type") == "Available" && text(condition, "/status") == "True")
}

async fn masters(kube: &Client) -> usize {
    let nodes = node::list(kube)
        .await
        .map_err(|error| warn!(error = chain(&error), "nodes are not known"))
        .unwrap_or_default();
    let is_master =
        |node: &&node::Node| node.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(MASTER));
    nodes.iter().filter(is_master).count()
}

async fn untaint(context: &Context) {
    for node in node::list(&context.kube).await.unwrap_or_default() {
        if let Err(error) = node::remove_taint(&context.kube, &node).await {
            warn!(node = node.name, error = chain(&error), "the taint stays for now");
        }
    }
}

/// Whether nodes wait for a cloud's controller that has no credentials (installer-and-controller §A7.2).
pub(crate) async fn taint_is_to_go(context: &Context, cluster: Option<&Cluster>) -> bool {
    let config = dns::install_config(&context.kube).await.unwrap_or_default();
    let platform = match cluster.and_then(|cluster| cluster.platform.as_ref()) {
        Some(platform) => platform.r#type.to_string(),
        None => {
            let platforms = config.get("platform").and_then(Value::as_object);
            platforms.and_then(|platforms| platforms.keys().next().cloned()).unwrap_or_default()
        }
    };
    match platform.as_str() {
        "nutanix" => true,
        "vsphere" => {
            let overrides = cluster.map(|cluster| {
                serde_json::from_str(&cluster.install_config_overrides).unwrap_or(Value::Null)
            });
            let credentials = match &overrides {
                Some(overrides) => has_credentials(overrides, &["user", "password", "server"]),
                None => has_credentials(&config, &["server"]),
            };
            !(credentials && is_at_least_4_15(&context.config.openshift_version))
        }
        _ => false,
    }
}

fn has_credentials(config: &Value, fields: &[&str]) -> bool {
    let Some(center) = config.pointer("/platform/vsphere/vcenters/0") else { return false };
    fields.iter().all(|field| {
        let value = center.get(field).and_then(Value::as_str).unwrap_or_default();
        !value.is_empty() && !PLACEHOLDERS.contains(&value)
    })
}

/// Candidates count as what they are candidates for.
fn is_at_least_4_15(version: &str) -> bool {
    let version = version.split('-').next().unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default()) >= (4, 15)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_from_4_15_on() {
        for (version, expected) in [
            ("4.14.9", false),
            ("4.14.0-rc0", false),
            ("4.15", true),
            ("4.15.0-rc0", true),
            ("5.0.1", true),
            ("", false),
        ] {
            assert_eq!(is_at_least_4_15(version), expected, "{version}");
        }
    }

    #[test]
    fn placeholders_are_no_credentials() {
        let all = ["user", "password", "server"];
        let config = |user: &str, server: &str| json!({"platform": {"vsphere": {"vcenters": [{"user": user, "password": "x", "server": server}]}}});
        assert!(has_credentials(&config("me", "center"), &all));
        assert!(!has_credentials(&config("usernameplaceholder", "center"), &all));
        assert!(!has_credentials(&config("me", ""), &all));
        assert!(has_credentials(&config("", "center"), &["server"]));
        let deprecated =
            json!({"platform": {"vsphere": {"username": "me", "password": "x", "vCenter": "center"}}});
        assert!(!has_credentials(&deprecated, &all));
    }

    #[test]
    fn a_map_names_what_it_holds() {
        let data = |entries: &[(&str, &str)]| {
            entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let metadata = "namespace: lvm\nsubscriptionName: lvms\nmanifests: [a.yaml]\n";
        assert!(read(&data(&[])).is_ok_and(|wanted| wanted.is_empty()));
        let whole = data(&[("lvm.metadata.yaml", metadata), ("a.yaml", "YTogMQ==")]);
        let wanted = read(&whole).unwrap_or_default();
        assert_eq!(wanted["lvm"].1, [b"a: 1".to_vec()]);
        assert!(matches!(read(&data(&[("lvm.metadata.yaml", metadata)])), Err(Failure::Retryable(_))));
        assert!(matches!(read(&data(&[("lvm.metadata.yaml", "[")])), Err(Failure::Terminal(_))));
    }
}
