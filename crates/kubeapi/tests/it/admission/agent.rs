//! Rules on Agents (kube-api §5.2).

use assisted_kubeapi::admission::Verdict;
use serde_json::{Value, json};

use super::{created, denial, updated};

const WEBHOOK: &str = "agentvalidators";

fn agent(spec: &Value, state: &str, kind: &str) -> Value {
    json!({"metadata": {"name": "example", "namespace": "site"}, "spec": spec,
           "status": {"kind": kind, "debugInfo": {"state": state}}})
}

#[test]
fn a_disk_is_named_once() {
    const TEXT: &str = "Either InstallationDiskID or InstallationDiskPath can be set, not both.";
    let old = agent(&json!({}), "known", "Host");
    for (spec, expected) in [
        (json!({"installation_disk_id": "a"}), None),
        (json!({"installation_disk_path": "/dev/sda"}), None),
        (json!({"installation_disk_id": "a", "installation_disk_path": ""}), None),
        (json!({"installation_disk_id": "a", "installation_disk_path": "/dev/sda"}), Some((400, TEXT))),
    ] {
        let new = agent(&spec, "known", "Host");
        assert_eq!(denial(&updated(WEBHOOK, &old, &new)), expected, "{spec}");
        // The service makes Agents: creation is not asked about.
        assert_eq!(created(WEBHOOK, &new), Verdict::Allowed);
    }
}

#[test]
fn its_cluster_stays_while_it_is_installed() {
    const TEXT: &str =
        "Attempted to change Spec.ClusterDeploymentName which is immutable during Agent installation.";
    let bound = |name: &str| json!({"clusterDeploymentName": {"name": name, "namespace": "b"}});
    let unbound = json!({});
    let day1 = "Host";
    let day2 = "AddToExistingClusterHost";
    for state in [
        "preparing-for-installation",
        "preparing-failed",
        "preparing-successful",
        "installing",
        "installing-in-progress",
        "installing-pending-user-action",
    ] {
        for (kind, old, new, is_denied) in [
            (day1, bound("a"), bound("c"), true),
            (day1, bound("a"), unbound.clone(), true),
            (day1, unbound.clone(), bound("a"), true),
            (day1, bound("a"), bound("a"), false),
            (day2, bound("a"), unbound.clone(), false),
            (day2, bound("a"), bound("c"), true),
        ] {
            // What counts is the state that the new object tells.
            let (old, new) = (agent(&old, "known", kind), agent(&new, state, kind));
            let verdict = updated(WEBHOOK, &old, &new);
            assert_eq!(denial(&verdict), is_denied.then_some((400, TEXT)), "{state} {kind} {old} {new}");
        }
    }
    for state in ["", "known", "insufficient", "installed", "error", "added-to-existing-cluster"] {
        let (old, new) = (agent(&bound("a"), "installing", day1), agent(&bound("c"), state, day1));
        assert_eq!(updated(WEBHOOK, &old, &new), Verdict::Allowed, "{state}");
    }
    let bare = json!({"metadata": {"name": "example"}, "spec": bound("c")});
    assert_eq!(updated(WEBHOOK, &agent(&bound("a"), "installing", day1), &bare), Verdict::Allowed);
}
