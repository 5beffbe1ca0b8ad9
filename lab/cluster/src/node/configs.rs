//! Later configurations of the node: it takes over the one that the cluster wants for it, and says so. Nothing is restarted.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use assisted_ignition_spec::Config;
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use super::Node;
use crate::cluster::PLAIN_CONFIG_PORT;
use crate::{daemon, machine_config};

/// Between two looks at what the cluster wants.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(60);
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";

/// Takes over each configuration that comes. It goes on until it is dropped.
pub async fn follow(node: &Node, kube: &Client) {
    loop {
        if let Err(error) = pass(node, kube).await {
            warn!(error = format!("{error:#}"), "the node keeps its configuration for now");
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn pass(node: &Node, kube: &Client) -> Result<()> {
    let nodes = Api::<core::Node>::all(kube.clone());
    let Some(own) = nodes.get_opt(&node.name).await? else { return Ok(()) };
    let told = |name: &str| own.annotations().get(name);
    let (Some(current), Some(desired)) = (told(CURRENT), told(DESIRED)) else { return Ok(()) };
    if current == desired {
        return Ok(());
    }
    let client = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()?;
    let (server, role) = (node.cluster.config_server(), &node.cluster.role);
    let url = format!("http://{server}:{PLAIN_CONFIG_PORT}/config/{role}");
    let text = client.get(url).send().await?.error_for_status()?.bytes().await?;
    let config: Config = serde_json::from_slice(&text)?;
    match machine_config::name_of(&config) {
        Some(name) if name == *desired => {}
        other => bail!("{desired} is wanted, and {other:?} is served"),
    }
    let files = daemon::update(&config, Path::new("/"))?;
    let patch = json!({"metadata": {"annotations": {CURRENT: desired}}});
    nodes.patch(&node.name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    info!(files, name = desired, "the node has another configuration");
    Ok(())
}
