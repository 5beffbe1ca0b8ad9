//! The objects by which a cluster says how far it is: its operators, its version, its router's certificates.

use std::collections::BTreeMap;

use anyhow::Result;
use assisted_base::hex;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tracing::info;

use super::NodeView;
use crate::cluster::Cluster;
use crate::kube_api::{Applier, Fields, is_absent};
use crate::pki::Authority;

/// Operators, and which nodes they need.
const OPERATORS: &[(&str, Needs)] = &[
    ("authentication", Needs::Applications),
    ("console", Needs::Applications),
    ("dns", Needs::ControlPlane),
    ("etcd", Needs::ControlPlane),
    ("ingress", Needs::Applications),
    ("kube-apiserver", Needs::ControlPlane),
    ("kube-controller-manager", Needs::ControlPlane),
    ("kube-scheduler", Needs::ControlPlane),
    ("machine-config", Needs::All),
    ("network", Needs::ControlPlane),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// All control-plane hosts.
    ControlPlane,
    /// A node for applications.
    Applications,
    /// Every node of the control plane, and of the pools beside it that have joined.
    All,
}

/// What was told already, without its times.
#[derive(Debug, Default)]
pub struct ReportedStatuses {
    statuses: BTreeMap<String, Value>,
    /// Since when this one tells.
    began: Option<Timestamp>,
}

/// Tells what has changed.
pub async fn report(
    cluster: &Cluster,
    nodes: &[NodeView],
    kube: &Client,
    applier: &mut Applier,
    reported: &mut ReportedStatuses,
) -> Result<()> {
    router(cluster, kube, applier, reported).await?;
    let states: Vec<_> =
        OPERATORS.iter().map(|(name, needs)| (*name, missing(*needs, cluster, nodes))).collect();
    for (name, missing) in &states {
        let versions = json!([{"name": "operator", "version": cluster.version}]);
        let status =
            json!({"conditions": conditions(missing, "the operator is available"), "versions": versions});
        reported.report(applier, "ClusterOperator", name, status).await?;
    }
    let waiting: Vec<_> =
        states.iter().filter(|(_, missing)| !missing.is_empty()).map(|(name, _)| *name).collect();
    let why = match waiting.len() {
        0 => String::new(),
        _ => format!("Working towards {}: waiting on {}", cluster.version, waiting.join(", ")),
    };
    let status = json!({
        "conditions": conditions(&why, &format!("Done applying {}", cluster.version)),
        "observedGeneration": 1, "versionHash": hex::encode(&Sha256::digest(&cluster.release_image)[..8]),
        "desired": {"version": cluster.version, "image": cluster.release_image},
        "availableUpdates": [],
        "history": [{
            "version": cluster.version, "image": cluster.release_image, "verified": false,
            "state": if why.is_empty() { "Completed" } else { "Partial" },
        }],
        "capabilities": {"enabledCapabilities": ["Console"], "knownCapabilities": ["Console"]},
    });
    reported.report(applier, "ClusterVersion", "version", status).await
}

/// What an operator waits for; empty when it is available.
fn missing(needs: Needs, cluster: &Cluster, nodes: &[NodeView]) -> String {
    let ready = |role: &str| nodes.iter().filter(|node| node.is(role) && node.ready).count();
    let wanted = |role: &str, count: usize| match ready(role) {
        found if found >= count => None,
        found => Some(format!("{found} of {count} nodes with role {role} are ready")),
    };
    let control_plane = || wanted("master", cluster.masters).or_else(|| wanted("arbiter", cluster.arbiters));
    let applications = || if cluster.workers > 1 { wanted("worker", 1) } else { wanted("master", 1) };
    let joined =
        || nodes.iter().find(|node| !node.ready).map(|node| format!("node {} is not ready", node.name));
    let missing = match needs {
        Needs::ControlPlane => control_plane(),
        Needs::Applications => applications(),
        Needs::All => control_plane().or_else(joined),
    };
    missing.unwrap_or_default()
}

fn conditions(missing: &str, done: &str) -> Value {
    let available = missing.is_empty();
    let status = |holds: bool| if holds { "True" } else { "False" };
    json!([
        {"type": "Available", "status": status(available), "reason": "Lab", "message": if available { done } else { missing }},
        {"type": "Progressing", "status": status(!available), "reason": "Lab", "message": missing},
        {"type": "Degraded", "status": "False", "reason": "Lab", "message": ""},
        {"type": "Upgradeable", "status": "True", "reason": "Lab", "message": ""},
    ])
}

impl ReportedStatuses {
    /// Tells a status, unless it was reported. Operators are made by this; the version is there from the beginning.
    async fn report(&mut self, applier: &mut Applier, kind: &str, name: &str, status: Value) -> Result<()> {
        let key = format!("{kind}/{name}");
        if self.statuses.get(&key) == Some(&status) {
            return Ok(());
        }
        let now = Timestamp::now();
        let timed = timed(status.clone(), *self.began.get_or_insert(now), now);
        let mut object =
            json!({"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": name}});
        if kind == "ClusterOperator" {
            object["spec"] = json!({});
            applier.apply(object.clone(), Fields::Known).await?;
        }
        object["status"] = timed;
        applier.apply_status(&object).await?;
        info!(object = key, message = %status["conditions"][0]["message"], "the status is written");
        self.statuses.insert(key, status);
        Ok(())
    }
}

/// A status with its times.
fn timed(mut status: Value, began: Timestamp, now: Timestamp) -> Value {
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = now.to_string().into();
    }
    for step in status.get_mut("history").and_then(Value::as_array_mut).into_iter().flatten() {
        step["startedTime"] = began.to_string().into();
        let is_complete = step["state"] == "Completed";
        step["completionTime"] = if is_complete { now.to_string().into() } else { Value::Null };
    }
    status
}

/// The router's authority, made once, and the way to the console.
async fn router(
    cluster: &Cluster,
    kube: &Client,
    applier: &mut Applier,
    reported: &mut ReportedStatuses,
) -> Result<()> {
    const CERTIFICATES: (&str, &str) = ("openshift-config-managed", "default-ingress-cert");
    if reported.statuses.contains_key(CERTIFICATES.1) {
        return Ok(());
    }
    let maps = Api::<ConfigMap>::namespaced(kube.clone(), CERTIFICATES.0);
    match maps.get(CERTIFICATES.1).await {
        Err(error) if is_absent(&error) => {
            let authority = Authority::new("ingress-operator")?;
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"namespace": CERTIFICATES.0, "name": CERTIFICATES.1},
                "data": {"ca-bundle.crt": authority.certificate()},
            });
            applier.apply(object, Fields::Known).await?;
        }
        found => drop(found?),
    }
    let host = format!("console-openshift-console.apps.{}", cluster.domain());
    let route = json!({
        "apiVersion": "route.openshift.io/v1", "kind": "Route",
        "metadata": {"namespace": "openshift-console", "name": "console"}, "spec": {"host": host},
    });
    applier.apply(route, Fields::Known).await?;
    reported.statuses.insert(CERTIFICATES.1.to_owned(), Value::Null);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(role: &str, ready: bool) -> NodeView {
        let labels = [(format!("node-role.kubernetes.io/{role}"), String::new())].into();
        NodeView { name: role.to_owned(), labels, ready }
    }

    #[test]
    fn operators_follow_the_nodes() {
        let cluster = Cluster { masters: 3, workers: 2, ..Cluster::default() };
        let mut nodes = vec![node("master", true), node("master", true), node("master", false)];
        assert_eq!(missing(Needs::ControlPlane, &cluster, &nodes), "2 of 3 nodes with role master are ready");
        assert_eq!(missing(Needs::Applications, &cluster, &nodes), "0 of 1 nodes with role worker are ready");
        nodes[2].ready = true;
        nodes.push(node("worker", true));
        nodes.push(node("worker", false));
        assert_eq!(missing(Needs::ControlPlane, &cluster, &nodes), "");
        assert_eq!(missing(Needs::Applications, &cluster, &nodes), "");
        assert_eq!(missing(Needs::All, &cluster, &nodes), "node worker is not ready");
        let compact = Cluster { masters: 3, ..Cluster::default() };
        assert_eq!(missing(Needs::Applications, &compact, &nodes[..1]), "");
    }
}
