//! Waiting for the other control-plane hosts to join the temporary control plane (installer-and-controller §A7).

use std::collections::BTreeSet;

use assisted_wire::host::{HostStage, HostStatus};
use assisted_wire::platform::PlatformType;
use serde::Deserialize;
use tracing::{info, warn};

use super::taint::{UNINITIALIZED, has_credentials, is_removed};
use super::{Bootstrap, KUBECONFIG};
use crate::error::InstallError;
use crate::host::FileError;
use crate::kube::{Api, DryRunCluster, Kube, KubeError, Kubeconfig, Node};
use crate::service::{Peer, ServiceError};

/// Between two polls of the nodes, in seconds.
const INTERVAL: u64 = 1;
const MASTERS: &str = "node-role.kubernetes.io/master";
const ARBITERS: &str = "node-role.kubernetes.io/arbiter";
/// So many besides this host make etcd safe.
const MOST_MASTERS: usize = 2;

/// Why nodes can't be counted; it passes.
#[derive(Debug, thiserror::Error)]
pub enum AwaitNodesError {
    #[error(transparent)]
    Kube(#[from] KubeError),
    #[error(transparent)]
    Service(#[from] assisted_client::Error),
    #[error("the cluster's install-config isn't there yet")]
    NoInstallConfig,
    #[error("the cluster's install-config can't be read: {0}")]
    InstallConfig(#[from] serde_yaml_ng::Error),
    #[error("node {0} is none of the cluster's hosts")]
    Stranger(String),
    #[error("the report for node {node} wasn't taken: {source}")]
    Report { node: String, source: assisted_client::Error },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InstallConfig {
    control_plane: Pool,
    #[serde(default)]
    arbiter: Option<Pool>,
}

#[derive(Deserialize)]
struct Pool {
    #[serde(default)]
    replicas: usize,
}

/// Nodes of one kind that are waited for.
struct Awaited {
    label: &'static str,
    needed: usize,
    /// Names of those that are ready, and told.
    ready: BTreeSet<String>,
}

impl Bootstrap<'_> {
    /// The cluster's API, by the kubeconfig that the bootstrap laid. It leads to whichever control plane serves.
    pub(super) fn kube(&self) -> Result<Kube, InstallError> {
        if let Some(dry) = &self.config.dry_run {
            return Ok(Kube::DryRun(DryRunCluster::new(&dry.cluster_hosts)));
        }
        let text = self.host.read(KUBECONFIG)?;
        let config = Kubeconfig::read(&text).map_err(KubeError::from)?;
        Ok(Kube::Api(Box::new(Api::new(&config)?)))
    }

    /// Waits until enough control-plane nodes are ready beside this host, and reports each that is.
    pub(super) async fn await_nodes(&self, kube: &Kube) -> Result<(), InstallError> {
        let cluster = self.service.cluster().await.map_err(ServiceError::from)?;
        let platform = cluster.platform.as_ref().map(|platform| platform.r#type);
        let credentials =
            platform == Some(PlatformType::Vsphere) && has_credentials(&cluster.install_config_overrides);
        let by_hosts = platform == Some(PlatformType::Vsphere) && self.is_by_hosts(kube).await;
        let untaint = is_removed(platform, by_hosts, credentials, &self.config.openshift_version);
        let mut peers = None;
        for (label, most) in [(MASTERS, MOST_MASTERS), (ARBITERS, 1)] {
            let mut awaited = loop {
                self.config.intervals.pause(INTERVAL).await;
                match needed(kube, label, most).await {
                    Ok(0) => break None,
                    Ok(needed) => break Some(Awaited { label, needed, ready: BTreeSet::new() }),
                    Err(error) => warn!(%error, "how many nodes there will be isn't known yet"),
                }
            };
            while let Some(nodes) = &mut awaited {
                match self.check_nodes(kube, nodes, &mut peers, untaint).await {
                    Ok(()) if nodes.ready.len() >= nodes.needed => break,
                    Ok(()) => {
                        info!(label, ready = nodes.ready.len(), needed = nodes.needed, "waiting for nodes");
                    }
                    Err(error) => {
                        warn!(label, %error, "looking at nodes again");
                        // A host may have changed its name or addresses.
                        peers = None;
                        if nodes.ready.len() >= nodes.needed {
                            break;
                        }
                    }
                }
                self.config.intervals.pause(INTERVAL).await;
            }
        }
        Ok(())
    }

    /// One look at the nodes. What is wrong with one of them doesn't keep the others from being told.
    async fn check_nodes(
        &self,
        kube: &Kube,
        awaited: &mut Awaited,
        peers: &mut Option<Vec<Peer>>,
        untaint: bool,
    ) -> Result<(), AwaitNodesError> {
        let peers = match peers {
            Some(peers) => peers,
            None => peers.insert(self.service.peers().await?),
        };
        let mut wrong = None;
        for node in kube.nodes(awaited.label).await? {
            if !node.is_ready() {
                if untaint && let Err(error) = kube.remove_taint(&node, UNINITIALIZED).await {
                    wrong = Some(error.into());
                }
                continue;
            }
            if awaited.ready.contains(node.name()) {
                continue;
            }
            match peer_of(&node, peers) {
                Some(peer) if peer.status != HostStatus::Installed => {
                    if let Err(source) = self.service.report_peer(peer, HostStage::Joined).await {
                        wrong = Some(AwaitNodesError::Report { node: node.name().to_owned(), source });
                        continue;
                    }
                }
                Some(_) => {}
                None => wrong = Some(AwaitNodesError::Stranger(node.name().to_owned())),
            }
            info!(node = node.name(), "ready");
            awaited.ready.insert(node.name().to_owned());
        }
        wrong.map_or(Ok(()), Err)
    }

    /// Whether the service runs on one of the cluster's hosts.
    pub(super) async fn is_by_hosts(&self, kube: &Kube) -> bool {
        match kube.config_map("openshift-config", "openshift-install-manifests").await {
            Ok(Some(map)) => map.get("invoker").is_some_and(|invoker| invoker == "agent-installer"),
            Ok(None) => false,
            Err(error) => {
                warn!(%error, "who installs isn't known");
                false
            }
        }
    }

    /// The bootstrap's resolver configuration changed, and with it the way to the API.
    pub(super) fn reload_resolver(&self) -> Result<(), FileError> {
        self.refresh_resolver()
    }
}

/// How many nodes of a kind must be ready; none where the cluster has none.
async fn needed(kube: &Kube, label: &str, most: usize) -> Result<usize, AwaitNodesError> {
    let map = kube.config_map("kube-system", "cluster-config-v1").await?;
    let text = map.as_ref().and_then(|map| map.get("install-config"));
    needed_by(text.ok_or(AwaitNodesError::NoInstallConfig)?, label, most)
}

fn needed_by(install_config: &str, label: &str, most: usize) -> Result<usize, AwaitNodesError> {
    let config: InstallConfig = serde_yaml_ng::from_str(install_config)?;
    Ok(match label {
        // This host is one of them.
        MASTERS => config.control_plane.replicas.saturating_sub(1).min(most),
        _ => config.arbiter.map_or(0, |pool| pool.replicas).min(most),
    })
}

/// The host that a node is: by its name, or else by an address.
fn peer_of<'a>(node: &Node, peers: &'a [Peer]) -> Option<&'a Peer> {
    let name = node.name().to_lowercase();
    let by_name = peers.iter().find(|peer| peer.name == name);
    by_name.or_else(|| peers.iter().find(|peer| node.internal_ips().any(|ip| peer.ips.contains(&ip))))
}

#[cfg(test)]
mod tests {
    use assisted_wire::host::HostRole;
    use assisted_wire::id::{HostId, InfraEnvId};

    use super::*;

    #[test]
    fn how_many_are_waited_for() {
        let of = |text: &str| {
            [needed_by(text, MASTERS, 2), needed_by(text, ARBITERS, 1)].map(|found| found.map_err(drop))
        };
        assert_eq!(of("controlPlane: {replicas: 3}"), [Ok(2), Ok(0)]);
        assert_eq!(of("controlPlane: {replicas: 5}\nbaseDomain: x"), [Ok(2), Ok(0)]);
        assert_eq!(of("controlPlane: {replicas: 2}\narbiter: {replicas: 1}"), [Ok(1), Ok(1)]);
        assert_eq!(of("controlPlane: {replicas: 1}"), [Ok(0), Ok(0)]);
        assert_eq!(of("{"), [Err(()), Err(())]);
    }

    #[test]
    fn nodes_are_known_by_name_or_address() {
        let peer = |name: &str, ip: &str| Peer {
            id: HostId::random(),
            infra_env_id: InfraEnvId::random(),
            role: HostRole::Master,
            status: HostStatus::InstallingInProgress,
            stage: None,
            name: name.to_owned(),
            ips: [ip.parse().unwrap()].into(),
        };
        let peers = [peer("m-0", "10.0.0.1"), peer("m-1", "fd00::2")];
        let node = |name: &str, ip: &str| {
            Node::of(&format!(
                r#"{{"metadata":{{"name":"{name}"}},"status":{{"addresses":[{{"type":"InternalIP","address":"{ip}"}}]}}}}"#
            ))
        };
        let found = |name, ip| peer_of(&node(name, ip), &peers).map(|peer| peer.name.as_str());
        assert_eq!(found("M-0", "10.9.9.9"), Some("m-0"));
        assert_eq!(found("other", "fd00:0::2"), Some("m-1"));
        assert_eq!(found("other", "10.0.0.10"), None);
    }
}
