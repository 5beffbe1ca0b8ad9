//! What only one of the control-plane hosts does: pods are given to nodes, and the cluster's operators say how far they
//! are. Nobody operates anything here: each says what follows from the nodes that are ready.

mod configs;
mod objects;
mod olm;
mod os_images;
mod pods;

use std::collections::BTreeSet;

use anyhow::Result;
use k8s_openapi::api::core::v1 as core;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::kube_api::Applier;
use crate::lease::{Lease, POLL_INTERVAL};
use crate::node::Node;

const LEASE: &str = "lab-operator";

/// Works whenever this host holds the lease. It goes on until it is dropped.
pub async fn run(node: &Node, kube: &Client) {
    let lease = Lease::new(kube, LEASE, &node.name);
    let mut applier = Applier::new(kube.clone());
    let mut reported = objects::ReportedStatuses::default();
    let mut brought = BTreeSet::new();
    let mut leads = false;
    loop {
        let held = lease.hold().await.map_err(|error| warn!(error = format!("{error:#}"), "no lease"));
        if held == Ok(true) {
            if !leads {
                info!(node = node.name, "leads");
                // Another one may have told something else since.
                reported = objects::ReportedStatuses::default();
            }
            if let Err(error) = pass(node, kube, &mut applier, &mut reported, &mut brought).await {
                warn!(error = format!("{error:#}"), "operators have to wait");
            }
        }
        leads = held == Ok(true);
        sleep(POLL_INTERVAL).await;
    }
}

async fn pass(
    node: &Node,
    kube: &Client,
    applier: &mut Applier,
    reported: &mut objects::ReportedStatuses,
    brought: &mut BTreeSet<(String, String)>,
) -> Result<()> {
    let nodes = Api::<core::Node>::all(kube.clone()).list(&ListParams::default()).await?.items;
    let nodes: Vec<NodeView> = nodes.iter().map(NodeView::of).collect();
    pods::schedule(kube, &nodes).await?;
    // An operator that can't come keeps none of the cluster's own from saying how far it is.
    if let Err(error) = olm::bring(&node.outcomes, kube, applier, brought).await {
        warn!(error = format!("{error:#}"), "operators of subscriptions have to wait");
    }
    let images = async {
        os_images::render(kube).await?;
        os_images::seed(kube).await?;
        Box::pin(configs::roll_out(kube)).await
    };
    if let Err(error) = images.await {
        warn!(error = format!("{error:#}"), "images of nodes have to wait");
    }
    objects::report(&node.cluster, &nodes, kube, applier, reported).await
}

/// The parts of a Node object that operators look at.
#[derive(Clone, Debug, Default)]
pub struct NodeView {
    pub name: String,
    pub labels: std::collections::BTreeMap<String, String>,
    pub ready: bool,
}

impl NodeView {
    fn of(node: &core::Node) -> Self {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let is_ready =
            |condition: &core::NodeCondition| condition.type_ == "Ready" && condition.status == "True";
        Self {
            name: node.name_any(),
            labels: node.labels().clone(),
            ready: conditions.into_iter().any(is_ready),
        }
    }

    pub fn is(&self, role: &str) -> bool {
        self.labels.contains_key(&format!("node-role.kubernetes.io/{role}"))
    }
}
