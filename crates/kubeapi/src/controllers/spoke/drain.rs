//! A node is drained before its machine goes (kube-api §6.6.11): nothing new comes to it, and its pods go elsewhere.

use std::time::Duration;

use assisted_kube::error::{is_missing, optional};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{EvictParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// How long one pass waits for pods.
const PASS: Duration = Duration::from_secs(20);
/// How often it looks.
const LOOK: Duration = Duration::from_secs(1);
/// After this a pod of a node that is away is waited for no more: nobody there tells that it has ended.
const LOST: SignedDuration = SignedDuration::from_mins(5);
/// Pod: the kubelet has it from a file.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The API server refuses to evict a pod now: too few of its kind would be left.
const TOO_FEW: u16 = 429;

/// Works towards a node without pods; whether it has none any more, or is not there.
///
/// # Errors
/// The API server's.
pub(in crate::controllers) async fn drain(client: &Client, name: &str) -> Result<bool, kube::Error> {
    let nodes = Api::<Node>::all(client.clone());
    let Some(node) = optional(nodes.get(name).await)? else { return Ok(true) };
    if node.spec.as_ref().and_then(|spec| spec.unschedulable) != Some(true) {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": true}}));
        nodes.patch(name, &PatchParams::default(), &patch).await?;
    }
    let pods = Api::<Pod>::all(client.clone());
    let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
    let deadline = Instant::now() + PASS;
    loop {
        let left = pods.list(&on_node).await?.items;
        let left: Vec<_> = left.into_iter().filter(|pod| has_to_go(pod, &node, Timestamp::now())).collect();
        if left.is_empty() {
            return Ok(true);
        }
        for pod in left.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            evict(client, pod).await?;
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(LOOK).await;
    }
}

async fn evict(client: &Client, pod: &Pod) -> Result<(), kube::Error> {
    let api = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    match api.evict(&pod.name_any(), &EvictParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == TOO_FEW => Ok(()),
        Err(error) if !is_missing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Whether a pod is waited for: not one that belongs to the node, has ended, or that nobody can tell the end of.
fn has_to_go(pod: &Pod, node: &Node, now: Timestamp) -> bool {
    let belongs = pod.annotations().contains_key(MIRROR)
        || pod.owner_references().iter().any(|owner| owner.kind == "DaemonSet");
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let has_ended = matches!(phase, Some("Succeeded" | "Failed"));
    let is_lost = pod
        .metadata
        .deletion_timestamp
        .as_ref()
        .is_some_and(|since| is_away(node) && now.duration_since(since.0) > LOST);
    !belongs && !has_ended && !is_lost
}

/// Whether nothing is heard of a node.
fn is_away(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    ready.any(|condition| condition.status == "Unknown")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn pod(metadata: &Value, phase: &str) -> Pod {
        serde_json::from_value(json!({"metadata": metadata, "status": {"phase": phase}})).unwrap()
    }

    fn node(ready: &str) -> Node {
        let condition = json!({"type": "Ready", "status": ready});
        serde_json::from_value(json!({"metadata": {}, "status": {"conditions": [condition]}})).unwrap()
    }

    #[test]
    fn pods_that_belong_to_the_node_stay() {
        let owner = |kind: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": "1"}]);
        let since = json!({"deletionTimestamp": "2024-01-01T00:00:00Z"});
        let later: Timestamp = "2024-01-01T00:06:00Z".parse().unwrap();
        let (known, away) = (node("True"), node("Unknown"));
        for (pod, node, expected) in [
            (pod(&json!({}), "Running"), &known, true),
            (pod(&json!({"ownerReferences": owner("ReplicaSet")}), "Running"), &known, true),
            (pod(&json!({"ownerReferences": owner("DaemonSet")}), "Running"), &known, false),
            (pod(&json!({"annotations": {(MIRROR): "x"}}), "Running"), &known, false),
            (pod(&json!({}), "Succeeded"), &known, false),
            (pod(&since, "Running"), &known, true),
            (pod(&since, "Running"), &away, false),
            (pod(&json!({}), "Running"), &away, true),
        ] {
            assert_eq!(has_to_go(&pod, node, later), expected, "{pod:?}");
        }
    }
}
