//! The temporary control plane: it starts the cluster on the bootstrap host, and gives it to the hosts that follow.

mod done;
mod hand_over;
mod in_place;
mod manifests;
mod requests;

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::{info, warn};

use done::DONE;
pub use hand_over::progress;
pub use in_place::restore;
pub use requests::{Nodes, Which, approve, approve_until_done as approve_requests};

use crate::cluster::{BOOTSTRAP, Cluster, PULL_SECRET, with_release};
use crate::control_plane::{ControlPlane, peer_url};
use crate::kube_api::{Applier, client};
use crate::lease::Lease;
use crate::machine_config::{Source, render, serve};
use crate::node::master;
use crate::program::ProgramRuntime;
use crate::vip::Virtual;

const NAME: &str = "etcd-bootstrap";

/// Runs the temporary control plane from its beginning to its end.
pub async fn run(programs: ProgramRuntime) -> Result<()> {
    let cluster = with_release(Cluster::read(BOOTSTRAP)?, programs).await?;
    let (address, interface) = cluster.own_address()?;
    let name = if cluster.is_single() { crate::cluster::hostname() } else { NAME.to_owned() };
    info!(cluster = cluster.domain(), version = cluster.version, %address, interface, "the temporary control plane starts");
    let vips = Virtual::new(&cluster.api_vips, &interface);
    vips.take().await?;

    let here = ControlPlane { cluster: &cluster, programs, folder: BOOTSTRAP, name, address };
    here.make_own()?;
    let etcd = here.start_etcd(&format!("{}={}", here.name, peer_url(address)), false)?;
    let api = here.start_api();
    here.await_api().await?;
    let controllers = here.start_controllers();
    let kube = client(here.loopback(), None).await?;
    let lease = Lease::new(&kube, master::API_LEASE, NAME);
    let renewing = async {
        loop {
            if let Err(error) = lease.hold().await {
                warn!(error = format!("{error:#}"), "the lease of the API's address is not renewed");
            }
            sleep(crate::lease::POLL_INTERVAL).await;
        }
    };

    let given = manifests::read(Path::new(BOOTSTRAP))?;
    let image_mode = given.iter().any(|object| object["kind"] == "MachineOSConfig");
    let rendered = render(&cluster, Path::new(BOOTSTRAP), Path::new(PULL_SECRET), &given)?;
    let made = rendered.objects.iter().cloned().chain([rendered.secret(), endpoints(&here)]);
    let mut applier = Applier::new(kube.clone());
    let work = async {
        manifests::apply(&mut applier, given, made.collect()).await?;
        if !cluster.is_single() {
            hand_over::await_others(&here, &kube).await;
        }
        anyhow::Ok(())
    };
    let configs = async {
        match cluster.is_single() {
            // There is nobody to ask.
            true => std::future::pending().await,
            false => serve(BOOTSTRAP, Source::Made(rendered.clone())).await,
        }
    };
    tokio::select! {
        done = work => done?,
        () = renewing => {}
        ended = configs => ended?,
    }
    controllers.stop().await;
    hand_over::free_controllers(&kube).await;
    if !cluster.is_single() {
        lease.release().await?;
        vips.give_up().await?;
    }
    api.stop().await;
    if !cluster.is_single() {
        hand_over::leave(&here).await?;
    }
    // At once: a member that was removed ends, and must not be begun anew.
    etcd.stop().await;
    if cluster.is_single() {
        in_place::write(&rendered, image_mode)?;
    }
    crate::files::write(DONE, 0o644, "")?;
    info!("the temporary control plane has done its part");
    Ok(())
}

/// Where members of etcd are found by those that come later.
fn endpoints(here: &ControlPlane<'_>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": master::ENDPOINTS, "namespace": master::ENDPOINTS_NAMESPACE},
        "data": {here.name.clone(): here.address.to_string()},
    })
}
