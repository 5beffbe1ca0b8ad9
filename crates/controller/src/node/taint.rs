//! The taint of nodes that wait for a cloud's controller, which on these platforms comes without credentials
//! (installer-and-controller §A7.2).

use assisted_wire::cluster::Cluster;
use assisted_wire::platform::PlatformType;
use k8s_openapi::api::core::v1 as core;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::Node;

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Whether nodes of the cluster keep the taint unless somebody takes it away.
pub(crate) fn is_needed(cluster: &Cluster) -> bool {
    let platform = cluster.platform.as_ref().map(|platform| platform.r#type);
    matches!(platform, Some(PlatformType::Nutanix | PlatformType::Vsphere))
}

/// Takes the taint away, if it is there.
pub(crate) async fn remove(kube: &Client, node: &Node) -> Result<(), kube::Error> {
    let Some(index) = node.taints.iter().position(|key| key == UNINITIALIZED) else { return Ok(()) };
    let path = format!("/spec/taints/{index}/key");
    // What stands at this place may have changed since: then the patch is refused, and tried again.
    let patch = json!([
        {"op": "test", "path": path, "value": UNINITIALIZED},
        {"op": "remove", "path": format!("/spec/taints/{index}")},
    ]);
    let nodes = Api::<core::Node>::all(kube.clone());
    nodes
        .patch(
            &node.name,
            &PatchParams::default(),
            &Patch::<()>::Json(serde_json::from_value(patch).unwrap_or_default()),
        )
        .await?;
    Ok(())
}
