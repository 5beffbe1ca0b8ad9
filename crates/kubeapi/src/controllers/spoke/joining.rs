//! Hosts that are added to an installed cluster, from their reboot on: whose requests for certificates are approved, and how far
//! they are (kube-api §6.4.7).

use assisted_crd::agent_install::agent::{ApprovedCsr, CsrStatus};
use assisted_kube::node::Node;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostKind, HostProgress, HostStage, HostStatus};
use assisted_wire::platform::PlatformType;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

/// What of a request for a certificate an Agent tells.
pub(super) const CLIENT: &str = "client";
pub(super) const SERVING: &str = "serving";

/// Whether a host is on its way from its reboot to a node that is ready.
pub(in crate::controllers) fn is_followed(host: &Host) -> bool {
    host.kind == HostKind::AddToExistingClusterHost
        && host.cluster_id.is_some()
        && (host.status == HostStatus::InstallingPendingUserAction
            || host.status == HostStatus::InstallingInProgress
                && matches!(
                    host.stage(),
                    Some(HostStage::Rebooting | HostStage::Configuring | HostStage::Joined)
                ))
}

/// Whether the requests of a host's node are approved here. `has_bare_metal_host`: another one makes the machine known to the cluster,
/// whose own approver lets it in where it looks after machines.
pub(super) fn needs_approval(host: &Host, cluster: &Cluster, has_bare_metal_host: bool) -> bool {
    let is_time = matches!(host.stage(), Some(HostStage::Rebooting | HostStage::Joined))
        || host.status == HostStatus::InstallingPendingUserAction;
    is_time && !(has_bare_metal_host && looks_after_machines(cluster))
}

/// Whether machines of the cluster are made known to it, and it looks after them.
pub(in crate::controllers) fn looks_after_machines(cluster: &Cluster) -> bool {
    cluster.user_managed_networking != Some(true)
        && (!is_bare_metal(cluster) || has_machine_api(&cluster.install_config_overrides))
}

fn is_bare_metal(cluster: &Cluster) -> bool {
    cluster.platform.as_ref().is_some_and(|platform| platform.r#type == PlatformType::Baremetal)
}

/// The capabilities of a cluster, as an install-config tells them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    #[serde(default)]
    baseline_capability_set: String,
    #[serde(default)]
    additional_enabled_capabilities: Vec<String>,
}

/// Whether the cluster looks after machines, as all do but those that were given `baremetal` without it.
fn has_machine_api(overrides: &str) -> bool {
    #[derive(Deserialize)]
    struct Overrides {
        capabilities: Option<Capabilities>,
    }
    let read = serde_json::from_str::<Overrides>(overrides).ok();
    let Some(given) = read.and_then(|overrides| overrides.capabilities) else { return true };
    let has = |name: &str| given.additional_enabled_capabilities.iter().any(|known| known == name);
    given.baseline_capability_set != "None" || !has("baremetal") || has("MachineAPI")
}

/// The stage that a host has reached by its node, if that is another one than is known. `approval`: what is tracked of its requests,
/// where they are approved here.
pub(super) fn reached(
    host: &Host,
    node: Option<&Node>,
    approval: Option<&CsrStatus>,
) -> Option<HostProgress> {
    let node = node?;
    let is_tracked = |status: &CsrStatus| {
        [CLIENT, SERVING].iter().all(|kind| status.approved_csrs.iter().any(|known| known.r#type == *kind))
    };
    let is_done = node.ready && approval.is_none_or(is_tracked);
    let next = if is_done { HostStage::Done } else { HostStage::Joined };
    if host.stage() == Some(next) {
        return None;
    }
    let recovers = is_done && host.status == HostStatus::InstallingPendingUserAction;
    let progress_info = if recovers {
        format!("recovered after {} timeout — node joined spoke cluster", host.status)
    } else {
        String::new()
    };
    Some(HostProgress { current_stage: Some(next), progress_info })
}

/// What is tracked of a node's requests, with those that were found approved now.
pub(super) fn tracked(before: Option<&CsrStatus>, found: &[ApprovedCsr], now: &Time) -> CsrStatus {
    let mut status = before.cloned().unwrap_or_default();
    for csr in found {
        if !status.approved_csrs.iter().any(|known| known.name == csr.name) {
            status.approved_csrs.push(csr.clone());
        }
    }
    status.last_approval_attempt = Some(now.clone());
    status
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn host(kind: &str, status: &str, stage: &str) -> Host {
        let at = "2024-01-01T00:00:00.000Z";
        serde_json::from_value(json!({
            "kind": kind, "id": "33333333-3333-4333-8333-333333333333", "href": "", "status": status,
            "status_info": "", "cluster_id": "11111111-1111-4111-8111-111111111111", "created_at": at,
            "updated_at": at, "progress": {"current_stage": stage, "stage_started_at": at, "stage_updated_at": at},
        }))
        .unwrap()
    }

    fn added(status: &str, stage: &str) -> Host {
        host("AddToExistingClusterHost", status, stage)
    }

    fn cluster(fields: &serde_json::Value) -> Cluster {
        let mut cluster = json!({
            "kind": "AddHostsCluster", "id": "11111111-1111-4111-8111-111111111111", "href": "", "name": "demo",
            "status": "adding-hosts", "status_info": "", "image_info": {}, "platform": {"type": "baremetal"},
            "user_managed_networking": false,
        });
        cluster.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap());
        serde_json::from_value(cluster).unwrap()
    }

    fn node(ready: bool) -> Node {
        Node { name: "host".to_owned(), ready, ..Node::default() }
    }

    fn csr(name: &str, kind: &str) -> ApprovedCsr {
        ApprovedCsr {
            approved_at: Time(Timestamp::UNIX_EPOCH),
            name: name.to_owned(),
            r#type: kind.to_owned(),
        }
    }

    #[test]
    fn hosts_are_followed_from_their_reboot_to_their_end() {
        let running = "installing-in-progress";
        for (host, expected) in [
            (added(running, "Writing image to disk"), false),
            (added(running, "Rebooting"), true),
            (added(running, "Configuring"), true),
            (added(running, "Joined"), true),
            (added("installing-pending-user-action", "Rebooting"), true),
            (added("added-to-existing-cluster", "Done"), false),
            (added("error", "Rebooting"), false),
            (host("Host", running, "Rebooting"), false),
        ] {
            assert_eq!(is_followed(&host), expected, "{host:?}");
        }
    }

    #[test]
    fn requests_are_approved_where_nobody_else_does() {
        let rebooting = added("installing-in-progress", "Rebooting");
        assert!(needs_approval(&rebooting, &cluster(&json!({})), false));
        assert!(!needs_approval(&rebooting, &cluster(&json!({})), true));
        assert!(needs_approval(&rebooting, &cluster(&json!({"user_managed_networking": true})), true));
        let without = |overrides: &str| cluster(&json!({"install_config_overrides": overrides}));
        for (overrides, expected) in [
            (
                r#"{"capabilities": {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": ["baremetal"]}}"#,
                true,
            ),
            (
                r#"{"capabilities": {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": ["baremetal", "MachineAPI"]}}"#,
                false,
            ),
            (r#"{"capabilities": {"baselineCapabilitySet": "vCurrent"}}"#, false),
            (r#"{"networking": {}}"#, false),
            ("no JSON", false),
        ] {
            assert_eq!(needs_approval(&rebooting, &without(overrides), true), expected, "{overrides}");
        }
        assert!(!needs_approval(
            &added("installing-in-progress", "Configuring"),
            &cluster(&json!({})),
            false
        ));
        let waiting = added("installing-pending-user-action", "Configuring");
        assert!(needs_approval(&waiting, &cluster(&json!({})), false));
    }

    #[test]
    fn a_node_tells_how_far_its_host_is() {
        let rebooting = added("installing-in-progress", "Rebooting");
        let next = |host: &Host, node: Option<&Node>, approval: Option<&CsrStatus>| {
            reached(host, node, approval)
                .map(|progress| (progress.current_stage.unwrap(), progress.progress_info))
        };
        let joined = Some((HostStage::Joined, String::new()));
        let done = Some((HostStage::Done, String::new()));
        assert_eq!(next(&rebooting, None, None), None);
        assert_eq!(next(&rebooting, Some(&node(false)), None), joined);
        assert_eq!(next(&added("installing-in-progress", "Joined"), Some(&node(false)), None), None);
        assert_eq!(next(&rebooting, Some(&node(true)), None), done);
        // Where requests are approved here, both kinds have to have been.
        let now = Time(Timestamp::UNIX_EPOCH);
        let mut status = tracked(None, &[csr("a", CLIENT)], &now);
        assert_eq!(next(&rebooting, Some(&node(true)), Some(&status)), joined);
        status = tracked(Some(&status), &[csr("a", CLIENT), csr("b", SERVING)], &now);
        assert_eq!(status.approved_csrs.len(), 2);
        assert_eq!(next(&rebooting, Some(&node(true)), Some(&status)), done);
        // Who was waited for too long comes after all.
        let late = added("installing-pending-user-action", "Rebooting");
        let (stage, info) = next(&late, Some(&node(true)), None).unwrap();
        assert_eq!(stage, HostStage::Done);
        assert_eq!(
            info,
            "recovered after installing-pending-user-action timeout — node joined spoke cluster"
        );
        assert_eq!(next(&late, Some(&node(false)), None), joined);
    }
}
