//! Telling the service which hosts have joined as nodes, and which of them are ready (installer-and-controller §B4.3).

use assisted_base::error::chain;
use assisted_wire::host::{HostStage, HostStatus};
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Node, Reboots, config_server, list, remove_taint};
use crate::context::Context;
use crate::wait::Ticker;
use assisted_kube::host::{KnownHost, of_node};

/// Follows nodes until all hosts are installed, or have failed.
pub(crate) async fn follow(
    context: &Context,
    remove_taints: bool,
    reboots: &Reboots,
    stop: &CancellationToken,
) {
    let intervals = &context.config.intervals;
    let nodes = Api::<core::Node>::all(context.kube.clone());
    let mut ticker = Ticker::watching(nodes, intervals.resync, intervals.min_interval);
    loop {
        if reconcile(context, remove_taints, reboots).await {
            info!("every host has come, or has failed");
            return;
        }
        if !ticker.next(stop).await {
            return;
        }
    }
}

/// One pass; true when there is nobody left to wait for.
async fn reconcile(context: &Context, remove_taints: bool, reboots: &Reboots) -> bool {
    let hosts = match context.service.hosts(&[HostStatus::Disabled]).await {
        Ok(hosts) => hosts,
        Err(error) => {
            warn!(error = chain(&error), "hosts are not known");
            return false;
        }
    };
    let in_progress = |host: &&KnownHost| !host.is(HostStatus::Installed);
    if hosts.iter().filter(in_progress).all(|host| host.is(HostStatus::Error)) {
        return true;
    }
    let nodes = match list(&context.kube).await {
        Ok(nodes) => nodes,
        Err(error) => {
            warn!(error = chain(&error), "nodes are not known");
            return false;
        }
    };
    for node in &nodes {
        match of_node(&hosts, node, |host| in_progress(&host)) {
            Some(host) => reconcile_node(context, node, host, remove_taints, reboots).await,
            None => warn!(node = node.name, "no host is known by this name or address"),
        }
    }
    config_server::report_configuring(context).await;
    false
}

async fn reconcile_node(
    context: &Context,
    node: &Node,
    host: &KnownHost,
    remove_taints: bool,
    reboots: &Reboots,
) {
    if let Some(address) = node.internal.first().filter(|address| !host.has_address(**address)) {
        warn!(node = node.name, %address, "the inventory does not know this address of the node");
    }
    let stage = host.stage();
    let tell = async |stage| match context.service.progress(&host.host, stage).await {
        Ok(()) => {
            context.progress.notify_one();
            info!(node = node.name, host = %host.host.id, %stage, "the stage of the host is reported");
            true
        }
        Err(error) => {
            warn!(node = node.name, host = %host.host.id, %stage, error = chain(&error), "the stage of the host is not reported");
            false
        }
    };
    if matches!(stage, Some(HostStage::Configuring | HostStage::Rebooting)) && !tell(HostStage::Joined).await
    {
        return;
    }
    if !node.ready
        && remove_taints
        && let Err(error) = remove_taint(&context.kube, node).await
    {
        warn!(node = node.name, error = chain(&error), "the taint stays for now");
        return;
    }
    if node.ready && stage != Some(HostStage::Done) && tell(HostStage::Done).await {
        reboots.count(&node.name, &host.host);
    }
}
