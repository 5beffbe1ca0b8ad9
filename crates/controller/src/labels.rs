//! Labels that people gave to hosts, set on their nodes (installer-and-controller §B5).

use std::collections::BTreeMap;

use assisted_wire::host::{HostRole, HostStatus};
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::MACHINE_CONFIG_POOL;
use crate::host::{KnownHost, of_node};
use crate::node;
use crate::run::Around;
use crate::wait::until;

type Labels = BTreeMap<String, String>;

/// Sets the labels of all nodes, as they become ready.
pub(crate) async fn set(around: &Around<'_>, stop: &CancellationToken) {
    let done = until(stop, around.config.pace.look, None, async || {
        pass(around).await.map_err(|error| warn!(error, "labels are not set yet")).ok()
    });
    if done.await.is_ok() {
        info!("labels are set");
    }
}

fn labels(host: &KnownHost) -> Option<Labels> {
    let labels: Labels = serde_json::from_str(&host.host.node_labels)
        .map_err(|error| warn!(host = %host.host.id, %error, "labels can't be read"))
        .ok()?;
    (!labels.is_empty()).then_some(labels)
}

async fn pass(around: &Around<'_>) -> Result<(), String> {
    let hosts = around.service.hosts(&[HostStatus::Disabled, HostStatus::Error]).await;
    let hosts = hosts.map_err(|error| error.to_string())?;
    let labelled: Vec<_> = hosts
        .iter()
        .filter(|host| !host.host.node_labels.is_empty())
        .filter_map(|host| Some((host, labels(host)?)))
        .collect();
    if labelled.is_empty() {
        return Ok(());
    }
    // Workers that leave the pool must not be updated for it first.
    let moves = labelled.iter().any(|(host, _)| {
        host.host.role == Some(HostRole::Worker) && !host.host.machine_config_pool_name.is_empty()
    });
    if moves {
        pause_workers(around, true).await.map_err(|error| error.to_string())?;
    }
    let nodes = node::list(&around.kube).await.map_err(|error| error.to_string())?;
    let mut set = 0;
    for node in nodes.iter().filter(|node| node.ready) {
        let host = of_node(&hosts, node, |_| true);
        let Some((_, wanted)) =
            labelled.iter().find(|(known, _)| Some(known.host.id) == host.map(|host| host.host.id))
        else {
            continue;
        };
        let have = node.metadata.labels.as_ref();
        if !wanted.iter().all(|(key, value)| have.and_then(|have| have.get(key)) == Some(value)) {
            let patch = Patch::Merge(json!({"metadata": {"labels": wanted}}));
            let patched = Api::<core::Node>::all(around.kube.clone());
            let patched = patched.patch(&node.name, &PatchParams::default(), &patch).await;
            if let Err(error) = patched {
                warn!(node = node.name, %error, "labels are refused");
                continue;
            }
        }
        set += 1;
    }
    if set < labelled.len() {
        return Err(format!("{set} of {} nodes have theirs", labelled.len()));
    }
    if moves {
        pause_workers(around, false).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

async fn pause_workers(around: &Around<'_>, paused: bool) -> Result<(), kube::Error> {
    let pools = MACHINE_CONFIG_POOL.all(&around.kube);
    let pool = pools.get("worker").await?;
    if pool.data.pointer("/spec/paused").and_then(serde_json::Value::as_bool).unwrap_or(false) == paused {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
    pools.patch("worker", &PatchParams::default(), &patch).await.map(drop)
}
