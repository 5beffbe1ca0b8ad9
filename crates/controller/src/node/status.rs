//! Telling the service which hosts have joined as nodes, and which of them are ready (installer-and-controller §B4.3).

use assisted_wire::host::{HostStage, HostStatus};
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{Node, Reboots, config_server, list, remove_taint};
use crate::host::{KnownHost, of_node};
use crate::run::Around;
use crate::wait::Pulse;

/// Follows nodes until all hosts are installed, or have failed.
pub(crate) async fn follow(
    around: &Around<'_>,
    remove_taints: bool,
    reboots: &Reboots,
    stop: &CancellationToken,
) {
    let pace = &around.config.pace;
    let nodes = Api::<core::Node>::all(around.kube.clone());
    let mut pulse = Pulse::of(nodes, pace.look, pace.breath);
    loop {
        if pass(around, remove_taints, reboots).await {
            info!("every host has come, or has failed");
            return;
        }
        if !pulse.next(stop).await {
            return;
        }
    }
}

/// One look; true when there is nobody left to wait for.
async fn pass(around: &Around<'_>, remove_taints: bool, reboots: &Reboots) -> bool {
    let hosts = match around.service.hosts(&[HostStatus::Disabled]).await {
        Ok(hosts) => hosts,
        Err(error) => {
            warn!(%error, "hosts are not known");
            return false;
        }
    };
    let in_progress = |host: &&KnownHost| !host.is(HostStatus::Installed);
    if hosts.iter().filter(in_progress).all(|host| host.is(HostStatus::Error)) {
        return true;
    }
    let nodes = match list(&around.kube).await {
        Ok(nodes) => nodes,
        Err(error) => {
            warn!(%error, "nodes are not known");
            return false;
        }
    };
    for node in &nodes {
        match of_node(&hosts, node, |host| in_progress(&host)) {
            Some(host) => look_at(around, node, host, remove_taints, reboots).await,
            None => warn!(node = node.name, "no host is known by this name or address"),
        }
    }
    config_server::look(around).await;
    false
}

async fn look_at(around: &Around<'_>, node: &Node, host: &KnownHost, remove_taints: bool, reboots: &Reboots) {
    if let Some(address) = node.internal.first().filter(|address| !host.has_address(**address)) {
        warn!(node = node.name, %address, "the inventory does not know this address of the node");
    }
    let stage = host.stage();
    let tell = async |stage| match around.service.progress(&host.host, stage).await {
        Ok(()) => {
            info!(node = node.name, host = %host.host.id, %stage, "told");
            true
        }
        Err(error) => {
            warn!(node = node.name, host = %host.host.id, %stage, %error, "not told");
            false
        }
    };
    if matches!(stage, Some(HostStage::Configuring | HostStage::Rebooting)) && !tell(HostStage::Joined).await
    {
        return;
    }
    if !node.ready
        && remove_taints
        && let Err(error) = remove_taint(&around.kube, node).await
    {
        warn!(node = node.name, %error, "the taint stays for now");
        return;
    }
    if node.ready && stage != Some(HostStage::Done) && tell(HostStage::Done).await {
        reboots.count(&node.name, &host.host);
    }
}
