//! A node of the cluster: it asks for its certificates, says that it lives, and runs the few pods of an installation. On
//! control-plane hosts it is the control plane's keeper, too.

mod configs;
mod join;
mod kubelet;
pub mod master;
mod pods;
mod status;

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Result;
use assisted_lab_kinds::Outcomes;
use kube::Client;
use tokio::task::JoinSet;
use tracing::info;

use crate::cluster::{Cluster, NODE, hostname};
use crate::program::ProgramRuntime;

/// Between two attempts at something that does not work yet.
pub const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Between two passes of a loop that never ends: machines that are emulated do much else.
pub const RESYNC: Duration = Duration::from_secs(1);

/// The facts of a node that all its parts share.
#[derive(Clone)]
pub struct Node {
    pub cluster: Cluster,
    pub programs: ProgramRuntime,
    /// How the installation of operators ends.
    pub outcomes: Outcomes,
    pub name: String,
    pub address: IpAddr,
    pub interface: String,
}

impl Node {
    pub fn is_master(&self) -> bool {
        self.cluster.role == "master"
    }

    /// Whether a member of etcd is here.
    pub fn has_etcd(&self) -> bool {
        self.cluster.role != "worker"
    }
}

/// Runs a node until it is stopped.
pub async fn run(programs: ProgramRuntime, outcomes: Outcomes) -> Result<()> {
    let cluster = Cluster::read(NODE)?;
    let (address, interface) = cluster.own_address()?;
    let node = Node { cluster, programs, outcomes, name: hostname(), address, interface };
    info!(node = node.name, role = node.cluster.role, %address, "starts");
    let mut tasks = JoinSet::new();
    if node.has_etcd() {
        tasks.spawn(master::run(node.clone()));
    }
    tasks.spawn(be(node));
    // Each goes on for ever: the first that ends has failed, and everything begins anew.
    match tasks.join_next().await {
        Some(ended) => ended?,
        None => Ok(()),
    }
}

async fn be(node: Node) -> Result<()> {
    let kube: Client = join::join(&node).await;
    status::register(&node, &kube).await;
    let serving = join::serving(&node, &kube);
    tokio::select! {
        () = status::keep(&node, &kube) => Ok(()),
        () = configs::follow(&node, &kube) => Ok(()),
        () = pods::run(&node, &kube) => Ok(()),
        done = async { kubelet::serve(serving.await).await } => done,
    }
}
