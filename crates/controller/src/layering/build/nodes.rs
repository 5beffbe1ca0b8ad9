//! On which node the image of workers is built.

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

fn holds(node: &Node, kind: &str) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == kind && condition.status == "True")
}

pub(super) fn is_ready(node: &Node) -> bool {
    holds(node, "Ready")
}

/// The ready node with the most room on its disk, of which the build takes much; of several the first by its name.
pub(super) fn choose(nodes: &[Node]) -> Option<&Node> {
    let takes_pods = |node: &&Node| {
        let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default();
        is_ready(node) && !cordoned && !holds(node, "DiskPressure")
    };
    let order = |a: &&Node, b: &&Node| room(a).cmp(&room(b)).then_with(|| b.name_any().cmp(&a.name_any()));
    nodes.iter().filter(takes_pods).max_by(order)
}

/// Bytes that pods may have on a node's disk; 0 where the node doesn't tell.
fn room(node: &Node) -> u64 {
    let status = node.status.as_ref();
    let allocatable = status.and_then(|status| status.allocatable.as_ref());
    let told = allocatable.and_then(|resources| resources.get("ephemeral-storage"));
    told.and_then(|quantity| bytes(&quantity.0)).unwrap_or_default()
}

/// A quantity of bytes in one of the forms that kubelets tell it in.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, room: &str, conditions: &[&str], spec: &Value) -> Node {
        let conditions: Vec<_> =
            conditions.iter().map(|kind| json!({"type": kind, "status": "True"})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": name}, "spec": spec,
            "status": {"conditions": conditions, "allocatable": {"ephemeral-storage": room}},
        }))
        .unwrap()
    }

    #[test]
    fn the_node_with_the_most_room_builds() {
        let ready = &["Ready"][..];
        let nodes = [
            node("d", "900Gi", ready, &json!({"unschedulable": true})),
            node("c", "100Gi", ready, &json!({})),
            node("b", "107374182400", ready, &json!({})),
            node("a", "50Gi", ready, &json!({})),
            node("e", "800Gi", &[], &json!({})),
            node("f", "700Gi", &["Ready", "DiskPressure"], &json!({})),
        ];
        assert_eq!(choose(&nodes).unwrap().name_any(), "b");
        assert!(choose(&nodes[..1]).is_none());
        assert!(choose(&[]).is_none());
        // One that doesn't tell is better than none.
        assert_eq!(choose(&[node("g", "odd", ready, &json!({}))]).unwrap().name_any(), "g");
    }
}
