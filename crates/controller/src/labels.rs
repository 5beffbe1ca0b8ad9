//! Labels that people gave to hosts, set on their nodes (installer-and-controller §B5).

use std::collections::BTreeMap;
use std::sync::Arc;

use assisted_base::error::chain;
use assisted_reconcile::{Failure, MemoryRow, Outcome, Reconciler};
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::id::ClusterId;
use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cluster::MACHINE_CONFIG_POOL;
use crate::context::Context;
use crate::error::ReconcileError;
use crate::node;
use crate::work;
use assisted_kube::host::{KnownHost, of_node};

type Labels = BTreeMap<String, String>;

/// Sets the labels of all nodes, as they become ready: the cluster is the one row of this work, for its workers rest together.
pub(crate) async fn set(context: &Arc<Context>, stop: &CancellationToken) {
    let queue = work::queue();
    queue.mark(context.config.cluster_id, Timestamp::now());
    let labeller = Labeller(Arc::clone(context));
    work::drive("node labels", queue, labeller, &context.config.intervals, stop).await;
}

struct Labeller(Arc<Context>);

impl Reconciler for Labeller {
    type Row = MemoryRow<ClusterId>;

    async fn reconcile(&self, _: &Self::Row) -> Result<Outcome, Failure> {
        match reconcile(&self.0).await {
            Ok(()) => {
                info!("labels are set");
                Ok(Outcome::Done)
            }
            Err(error @ ReconcileError::NotYet(_)) => {
                info!(error = chain(&error), "labels are not set yet");
                Ok(work::after(self.0.config.intervals.resync))
            }
            Err(error) => Err(Failure::passing(chain(&error))),
        }
    }
}

fn labels(host: &KnownHost) -> Option<Labels> {
    let labels: Labels = serde_json::from_str(&host.host.node_labels)
        .map_err(|error| warn!(host = %host.host.id, error = chain(&error), "labels can't be read"))
        .ok()?;
    (!labels.is_empty()).then_some(labels)
}

async fn reconcile(context: &Context) -> Result<(), ReconcileError> {
    let hosts = context.service.hosts(&[HostStatus::Disabled, HostStatus::Error]).await?;
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
        pause_workers(context, true).await?;
    }
    let nodes = node::list(&context.kube).await?;
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
            let patched = Api::<core::Node>::all(context.kube.clone());
            let patched = patched.patch(&node.name, &PatchParams::default(), &patch).await;
            if let Err(error) = patched {
                warn!(node = node.name, error = chain(&error), "labels are refused");
                continue;
            }
        }
        set += 1;
    }
    if set < labelled.len() {
        return Err(ReconcileError::not_yet(format!("{set} of {} nodes have theirs", labelled.len())));
    }
    if moves {
        pause_workers(context, false).await?;
    }
    Ok(())
}

async fn pause_workers(context: &Context, paused: bool) -> Result<(), kube::Error> {
    let pools = MACHINE_CONFIG_POOL.all(&context.kube);
    let pool = pools.get("worker").await?;
    if pool.data.pointer("/spec/paused").and_then(serde_json::Value::as_bool).unwrap_or(false) == paused {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
    pools.patch("worker", &PatchParams::default(), &patch).await.map(drop)
}
