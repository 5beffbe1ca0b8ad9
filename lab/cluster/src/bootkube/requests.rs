//! Nodes' requests for certificates, as long as nobody else in the cluster looks at them.

use std::path::Path;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::ValueEnum;
use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::time::sleep;
use tracing::{info, warn};

use super::done::{DONE, POLL_INTERVAL};
use crate::cluster::BOOTSTRAP;
use crate::control_plane::names;
use crate::kube_api::client;
use crate::waiting::Waiting;

/// The reason that is written beside each approval.
const REASON: &str = "LabBootstrap";
/// The prefix of a node's name as a user of the API.
const USER: &str = "system:node:";

/// Whose requests are approved until the temporary control plane has done its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Nodes {
    /// Everybody's, as in OpenShift
    All,
    /// That of one control-plane node as a client: the controller of the installation can then run on it, and decides about all
    /// others
    FirstMaster,
}

/// The nodes whose certificate requests are approved.
pub enum Which<'a> {
    All,
    /// The first request as a client that comes from one of these nodes.
    First(&'a [String]),
    /// That of the node bootstrapper, or of the node itself, for this node.
    Of(&'a str),
}

/// Approves requests until the temporary control plane has done its part.
pub async fn approve_until_done(nodes: Nodes) -> Result<()> {
    let kubeconfig = Path::new(BOOTSTRAP).join(names::LOOPBACK);
    let masters = masters(&super::manifests::read(Path::new(BOOTSTRAP))?);
    let which = match nodes {
        Nodes::All => Which::All,
        Nodes::FirstMaster => Which::First(&masters),
    };
    let (mut kube, mut waiting) = (None, Waiting::new("requests"));
    while !Path::new(DONE).exists() {
        let looked = async {
            let kube = match &kube {
                Some(kube) => kube,
                None => kube.insert(client(&kubeconfig, None).await?),
            };
            approve(kube, &which).await
        };
        waiting.tell(looked.await);
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Names of the cluster's machines that will be masters.
fn masters(manifests: &[Value]) -> Vec<String> {
    let consumer =
        |host: &Value| host["spec"]["consumerRef"]["name"].as_str().unwrap_or_default().contains("-master-");
    let hosts = manifests.iter().filter(|object| object["kind"] == "BareMetalHost" && consumer(object));
    hosts.filter_map(|host| Some(host["metadata"]["name"].as_str()?.to_owned())).collect()
}

/// The node that a request is for: the name in it stands there as it is.
fn node(request: &CertificateSigningRequest) -> String {
    let text = pem_bytes(&request.spec.request.0);
    let found = text.windows(USER.len()).position(|bytes| bytes == USER.as_bytes());
    // Behind its length, as DER has short texts.
    let name = found.and_then(|at| text.get(at..at + usize::from(*text.get(at.checked_sub(1)?)?)));
    let name = name.map(String::from_utf8_lossy).unwrap_or_default();
    name.strip_prefix(USER).unwrap_or_default().to_owned()
}

fn pem_bytes(pem: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(pem);
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).map(str::trim).collect();
    STANDARD.decode(body).unwrap_or_default()
}

/// Which requests are approved now, by their places.
fn wanted(all: &[CertificateSigningRequest], which: &Which<'_>) -> Vec<usize> {
    let conditions = |request: &CertificateSigningRequest| {
        request
            .status
            .iter()
            .flat_map(|status| status.conditions.clone().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    let is_pending = |request: &CertificateSigningRequest| conditions(request).is_empty();
    let is_own = |request: &CertificateSigningRequest| {
        conditions(request).iter().any(|condition| condition.reason.as_deref() == Some(REASON))
    };
    let mut wanted = Vec::new();
    for (place, request) in all.iter().enumerate().filter(|(_, request)| is_pending(request)) {
        let user = request.spec.username.as_deref().unwrap_or_default();
        let is_wanted = match which {
            Which::All => true,
            Which::Of(node) => user == crate::foundation::BOOTSTRAPPER || user == format!("{USER}{node}"),
            Which::First(masters) => {
                let is_first = wanted.is_empty() && !all.iter().any(is_own);
                is_first && user == crate::foundation::BOOTSTRAPPER && masters.contains(&node(request))
            }
        };
        if is_wanted {
            wanted.push(place);
        }
    }
    wanted
}

/// Approves what is pending now.
pub async fn approve(kube: &Client, which: &Which<'_>) -> Result<()> {
    let requests = Api::<CertificateSigningRequest>::all(kube.clone());
    let mut all = requests.list(&ListParams::default()).await?.items;
    for place in wanted(&all, which) {
        let Some(request) = all.get_mut(place) else { continue };
        let status = request.status.get_or_insert_default();
        let conditions = status.conditions.get_or_insert_default();
        conditions.push(CertificateSigningRequestCondition {
            type_: "Approved".to_owned(),
            status: "True".to_owned(),
            reason: Some(REASON.to_owned()),
            last_update_time: Some(Time(Timestamp::now())),
            ..CertificateSigningRequestCondition::default()
        });
        let name = request.name_any();
        match requests.replace_subresource("approval", &name, &PostParams::default(), request).await {
            Ok(_) => info!(request = name, "approved"),
            Err(error) => warn!(request = name, %error, "not approved"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(name: &str, signer: &str, approved: bool) -> CertificateSigningRequest {
        let user = format!("{USER}{name}");
        let serving = signer.ends_with("serving");
        let der = [&b"0\x0c"[..], &[u8::try_from(user.len()).unwrap()][..], user.as_bytes(), b"0Y"].concat();
        let pem = format!("-----BEGIN X-----\n{}\n-----END X-----\n", STANDARD.encode(der));
        let conditions = if approved {
            json!([{"type": "Approved", "status": "True", "reason": REASON}])
        } else {
            json!([])
        };
        serde_json::from_value(json!({
            "metadata": {}, "status": {"conditions": conditions},
            "spec": {
                "request": STANDARD.encode(pem), "signerName": signer,
                "username": if serving { user.as_str() } else { crate::foundation::BOOTSTRAPPER },
            },
        }))
        .unwrap()
    }

    #[test]
    fn one_master_is_let_in_and_the_others_are_left() {
        const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
        const SERVING: &str = "kubernetes.io/kubelet-serving";
        let masters = ["m1".to_owned(), "m2".to_owned()];
        let first = Which::First(&masters);
        let asked =
            [request("a0", CLIENT, false), request("m2", CLIENT, false), request("m1", CLIENT, false)];
        assert_eq!(wanted(&asked, &first), [1]);
        assert_eq!(wanted(&asked, &Which::All), [0, 1, 2]);
        let later =
            [request("m2", CLIENT, true), request("m1", CLIENT, false), request("m2", SERVING, false)];
        assert!(wanted(&later, &first).is_empty());
    }

    #[test]
    fn masters_are_those_that_a_machine_of_masters_consumes() {
        let host = |name: &str, machine: &str| json!({"kind": "BareMetalHost", "metadata": {"name": name}, "spec": {"consumerRef": {"name": machine}}});
        let all = [host("m0", "lab-x-master-0"), host("a0", "lab-x-arbiter-0"), json!({"kind": "Secret"})];
        assert_eq!(masters(&all), ["m0"]);
    }
}
