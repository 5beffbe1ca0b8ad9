//! The cluster's way from the bootstrap host to its control-plane hosts.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use super::NAME;
use super::done::{DONE, POLL_INTERVAL};
use crate::cluster::{BOOTSTRAP, Cluster};
use crate::control_plane::{ControlPlane, Member, names};
use crate::kube_api::{Applier, Fields, client};

/// Waits until others are voting members of etcd, and serve the API.
pub async fn await_others(here: &ControlPlane<'_>, kube: &Client) {
    let (members, masters) = (here.cluster.needed_members(), here.cluster.needed_masters());
    let mut told = None;
    loop {
        match others(here, kube).await {
            Ok(found) if found.0 >= members && found.1 >= masters => return,
            Ok(found) => {
                if told != Some(found) {
                    info!(
                        voting = found.0,
                        of_members = members,
                        serving = found.1,
                        of_masters = masters,
                        "waiting for others"
                    );
                }
                told = Some(found);
            }
            Err(error) => warn!(error = format!("{error:#}"), "waiting for others"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn others(here: &ControlPlane<'_>, kube: &Client) -> Result<(usize, usize)> {
    let members = here.etcd()?.members(here.address).await?;
    let voting = members.iter().filter(|member| member.votes() && member.name != here.name).count();
    let serving = serving(kube).await?;
    Ok((voting, serving.iter().filter(|ip| **ip != here.address.to_string()).count()))
}

/// Who serves the API, as its servers tell themselves.
async fn serving(kube: &Client) -> Result<BTreeSet<String>> {
    let endpoints = Api::<Endpoints>::namespaced(kube.clone(), "default").get("kubernetes").await?;
    let subsets = endpoints.subsets.into_iter().flatten();
    Ok(subsets.flat_map(|subset| subset.addresses.unwrap_or_default()).map(|address| address.ip).collect())
}

/// Lets another one's controllers begin at once: those of this host have ended without a word.
pub async fn free_controllers(kube: &Client) {
    let leases = Api::<Lease>::namespaced(kube.clone(), "kube-system");
    if let Err(error) = leases.delete("kube-controller-manager", &DeleteParams::default()).await {
        warn!(%error, "the others' controllers will begin later");
    }
}

/// Leaves etcd to the others: one of them leads from now on.
pub async fn leave(here: &ControlPlane<'_>) -> Result<()> {
    let etcd = here.etcd()?;
    let members = etcd.members(here.address).await?;
    let Some(own) = members.iter().find(|member| member.name == here.name) else { return Ok(()) };
    let other = members.iter().find(|member| member.votes() && member.id != own.id);
    let other = other.context("etcd has no other member")?;
    let at = address(other)?;
    // Whoever leaves while it leads leaves the others without a leader for a while.
    for _ in 0..40 {
        if etcd.leader(here.address).await? != own.id {
            break;
        }
        if let Err(error) = etcd.lead(here.address, &other.id).await {
            warn!(error = format!("{error:#}"), "this member still leads");
        }
        sleep(POLL_INTERVAL).await;
    }
    loop {
        match etcd.remove(at, &own.id).await {
            Ok(()) => break,
            Err(error) => {
                // It may have been removed though no answer came.
                let left = etcd.members(at).await;
                if left.is_ok_and(|left| left.iter().all(|member| member.id != own.id)) {
                    break;
                }
                warn!(error = format!("{error:#}"), "this member stays for now");
            }
        }
        sleep(POLL_INTERVAL).await;
    }
    info!("etcd is without the bootstrap host");
    Ok(())
}

/// The address of an etcd member.
fn address(member: &Member) -> Result<std::net::IpAddr> {
    let url = member.peer_urls.first().context("a member without an address")?;
    let host = url.strip_prefix("https://").and_then(|rest| rest.rsplit_once(':')).map(|(host, _)| host);
    let host = host.unwrap_or_default().trim_matches(['[', ']']);
    host.parse().with_context(|| format!("{url} is no member's address"))
}

/// Waits until the cluster stands without the bootstrap host, and says so in it.
pub async fn progress() -> Result<()> {
    while !std::path::Path::new(DONE).exists() {
        sleep(POLL_INTERVAL).await;
    }
    let cluster = Cluster::read(BOOTSTRAP)?;
    if cluster.is_single() {
        return Ok(());
    }
    loop {
        match stands_alone(&cluster).await {
            Ok(()) => return Ok(()),
            Err(error) => warn!(error = format!("{error:#}"), "the cluster doesn't stand alone yet"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn stands_alone(cluster: &Cluster) -> Result<()> {
    let kube = client(std::path::Path::new(BOOTSTRAP).join(names::KUBECONFIG), None).await?;
    let (address, _) = cluster.own_address()?;
    let mut serving = serving(&kube).await?;
    serving.remove(&address.to_string());
    if serving.len() < cluster.needed_masters() {
        bail!("{} control-plane hosts serve the API", serving.len());
    }
    let maps = Api::<ConfigMap>::namespaced(kube.clone(), crate::node::master::ENDPOINTS_NAMESPACE);
    let data = maps.get(crate::node::master::ENDPOINTS).await?.data.unwrap_or_default();
    if data.keys().filter(|name| *name != NAME).count() < cluster.needed_members() {
        bail!("etcd has too few members");
    }
    // Whoever comes later looks for members there.
    let gone = Patch::Merge(json!({"data": {NAME: null}}));
    maps.patch(crate::node::master::ENDPOINTS, &PatchParams::default(), &gone).await?;
    let complete = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bootstrap", "namespace": "kube-system"},
        "data": {"status": "complete"},
    });
    Applier::new(kube).apply(complete, Fields::Known).await?;
    info!("the cluster stands without its bootstrap host");
    Ok(())
}
