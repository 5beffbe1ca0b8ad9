//! A control-plane host: its member of etcd, its API, its share of what only one of them does.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::{Node, POLL_INTERVAL, RESYNC};
use crate::bootkube::{Which, approve, restore};
use crate::cluster::NODE;
use crate::control_plane::{ControlPlane, DATA, Etcd, Member, initial, peer_url};
use crate::kube_api::{MANAGER, client};
use crate::machine_config::{self, Source};
use crate::operator;
use crate::program::Running;
use crate::vip::{Virtual, share};
use crate::waiting::Waiting;

/// The lease of whoever has the API's virtual address.
pub const API_LEASE: &str = "lab-api-vip";
const INGRESS_LEASE: &str = "lab-ingress-vip";
/// The config map with the addresses of etcd's members.
pub const ENDPOINTS: &str = "etcd-endpoints";
pub const ENDPOINTS_NAMESPACE: &str = "openshift-etcd";
/// A new member that hasn't caught up by then begins anew.
const CATCH_UP: Duration = Duration::from_secs(1_200);

/// Keeps the control plane of this host.
pub async fn run(node: Node) -> Result<()> {
    let here = ControlPlane {
        cluster: &node.cluster,
        programs: node.programs,
        folder: NODE,
        name: node.name.clone(),
        address: node.address,
    };
    here.make_own()?;
    let _etcd = match node.cluster.is_single() {
        true => {
            restore()?;
            here.start_etcd(&format!("{}={}", here.name, peer_url(here.address)), false)?
        }
        false => become_member(&here).await,
    };
    let published = async {
        publish_address(&here).await;
        std::future::pending().await
    };
    if !node.is_master() {
        return published.await;
    }
    let _api = here.start_api();
    here.await_api().await?;
    let _controllers = here.start_controllers();
    let kube = client(here.loopback(), None).await?;
    let single = async {
        if !node.cluster.is_single() {
            return std::future::pending().await;
        }
        let mut waiting = Waiting::new("requests");
        loop {
            // The controller of the installation is a pod of this very node: nobody else could let it in.
            waiting.tell(approve(&kube, &Which::Of(&node.name)).await);
            sleep(RESYNC).await;
        }
    };
    let vips = |addresses: &[IpAddr]| Virtual::new(addresses, &node.interface);
    tokio::select! {
        ended = machine_config::serve(NODE, Source::Cluster(kube.clone())) => ended,
        () = share(&kube, API_LEASE, &node.name, vips(&node.cluster.api_vips)) => Ok(()),
        () = share(&kube, INGRESS_LEASE, &node.name, vips(&node.cluster.ingress_vips)) => Ok(()),
        () = operator::run(&node, &kube) => Ok(()),
        () = single => Ok(()),
        ended = published => ended,
    }
}

/// Makes this host a voting member of the cluster's etcd, however often it takes.
async fn become_member(here: &ControlPlane<'_>) -> Running {
    loop {
        match try_become_member(here).await {
            Ok(etcd) => return etcd,
            Err(error) => warn!(error = format!("{error:#}"), "no member of etcd yet"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn try_become_member(here: &ControlPlane<'_>) -> Result<Running> {
    let etcd = here.etcd()?;
    let joined = Path::new(DATA).join("member").exists();
    let running = if joined {
        here.start_etcd("", true)?
    } else {
        let (at, members) = reachable(&etcd, &others(&client(here.kubeconfig(), None).await?).await?).await?;
        let known = match members.iter().find(|member| member.is_at(here.address)) {
            // Its data is gone: it can't be that member any more.
            Some(gone) if !gone.name.is_empty() => {
                etcd.remove(at, &gone.id).await?;
                None
            }
            known => known,
        };
        let members = match known {
            Some(_) => members,
            None => etcd.add_learner(at, here.address).await?.1,
        };
        info!(%at, members = members.len(), "joins etcd");
        here.start_etcd(&initial(&members, &here.name, here.address), true)?
    };
    match timeout(CATCH_UP, vote(here)).await {
        Ok(voted) => voted?,
        Err(_) => warn!("still no voting member of etcd; it goes on"),
    }
    Ok(running)
}

/// A member that answers, and all that it knows.
async fn reachable(etcd: &Etcd, others: &[IpAddr]) -> Result<(IpAddr, Vec<Member>)> {
    let mut failed = anyhow::anyhow!("no member of etcd is known");
    for at in others {
        match etcd.members(*at).await {
            Ok(members) => return Ok((*at, members)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn own<'a>(members: &'a [Member], here: &ControlPlane<'_>) -> Result<&'a Member> {
    members.iter().find(|member| member.is_at(here.address)).context("not a member")
}

/// Waits until this host's member votes, and tells where it is.
async fn vote(here: &ControlPlane<'_>) -> Result<()> {
    let etcd = here.etcd()?;
    loop {
        // A member that doesn't vote yet tells nothing of the others.
        if etcd.members(here.address).await.is_ok() {
            break;
        }
        let looked = async {
            let others = others(&client(here.kubeconfig(), None).await?).await?;
            let (at, members) = reachable(&etcd, &others).await?;
            etcd.promote(at, &own(&members, here)?.id).await
        };
        match looked.await {
            Ok(()) => info!("may vote"),
            Err(error) => info!(why = format!("{error:#}"), "not a voting member yet"),
        }
        sleep(POLL_INTERVAL).await;
    }
    info!("a voting member of etcd");
    Ok(())
}

/// Publishes the address of this member for those that come later, as soon as the API takes it.
async fn publish_address(here: &ControlPlane<'_>) {
    let patch = json!({"data": {here.name.clone(): here.address.to_string()}});
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    loop {
        let published = async {
            let kube = client(here.kubeconfig(), None).await?;
            let maps = Api::<ConfigMap>::namespaced(kube, ENDPOINTS_NAMESPACE);
            maps.patch(ENDPOINTS, &params, &Patch::Merge(&patch)).await?;
            anyhow::Ok(())
        };
        match published.await {
            Ok(()) => return,
            Err(error) => {
                warn!(error = format!("{error:#}"), "the address of this member can't be published yet");
            }
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// The addresses of etcd's other members.
async fn others(kube: &Client) -> Result<Vec<IpAddr>> {
    let maps = Api::<ConfigMap>::namespaced(kube.clone(), ENDPOINTS_NAMESPACE);
    let data = maps.get(ENDPOINTS).await?.data.unwrap_or_default();
    Ok(data.values().filter_map(|address| address.parse().ok()).collect())
}
