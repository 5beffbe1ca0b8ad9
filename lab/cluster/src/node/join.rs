//! A node's certificates: it asks for one as a client with the credentials that every host is installed with, and as
//! itself for one as a server. Somebody in the cluster approves, the cluster signs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;
use tracing::{info, warn};

use super::{Node, POLL_INTERVAL};
use crate::cluster::NODE;
use crate::control_plane::{KUBELET, names};
use crate::files;
use crate::kube_api::client;
use crate::pki::{Pair, Subject, kubeconfig, request};

const OWN: &str = "/var/lib/kubelet/kubeconfig";
const SERVING: &str = "/var/lib/kubelet/pki/serving";
/// A request that nobody has approved by then is made again.
const TIMEOUT: Duration = Duration::from_secs(600);
const NODES: &[&str] = &["system:nodes"];

/// The API as the node itself, as soon as it is let in.
pub async fn join(node: &Node) -> Client {
    loop {
        match try_join(node).await {
            Ok(own) => return own,
            Err(error) => warn!(error = format!("{error:#}"), "not let in yet"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn try_join(node: &Node) -> Result<Client> {
    if !Path::new(OWN).exists() {
        let bootstrapper = client(Path::new(NODE).join(KUBELET), None).await?;
        let name = format!("system:node:{}", node.name);
        let (text, key) = request(Subject { name: &name, groups: NODES }, &[], &[])?;
        let signer = "kubernetes.io/kube-apiserver-client-kubelet";
        let certificate = signed(&bootstrapper, &text, signer, "client auth").await?;
        let root = files::text(Path::new(NODE).join(names::ROOT))?;
        let own = kubeconfig(&node.cluster.server(), &root, "node", &Pair { certificate, key });
        files::write(OWN, 0o600, own)?;
        info!(node = node.name, "let in");
    }
    client(OWN, None).await
}

/// The certificate of the node's own server.
pub async fn serving(node: &Node, kube: &Client) -> Pair {
    loop {
        match try_serving(node, kube).await {
            Ok(pair) => return pair,
            Err(error) => warn!(error = format!("{error:#}"), "no certificate as a server yet"),
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn try_serving(node: &Node, kube: &Client) -> Result<Pair> {
    let path = |end: &str| format!("{SERVING}.{end}");
    if !Path::new(&path("crt")).exists() {
        let name = format!("system:node:{}", node.name);
        let subject = Subject { name: &name, groups: NODES };
        let (text, key) = request(subject, std::slice::from_ref(&node.name), &[node.address])?;
        let certificate = signed(kube, &text, "kubernetes.io/kubelet-serving", "server auth").await?;
        files::write(path("key"), 0o600, key)?;
        files::write(path("crt"), 0o600, certificate)?;
        info!(node = node.name, "has its certificate as a server");
    }
    Ok(Pair { certificate: files::text(path("crt"))?, key: files::text(path("key"))? })
}

/// Asks, and waits until somebody has approved and the cluster has signed.
async fn signed(with: &Client, text: &str, signer: &str, usage: &str) -> Result<String> {
    let requests = Api::<CertificateSigningRequest>::all(with.clone());
    let wish: CertificateSigningRequest = serde_json::from_value(json!({
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": ByteString(text.as_bytes().to_vec()), "signerName": signer,
            "usages": ["digital signature", usage],
        },
    }))?;
    let asked =
        requests.create(&PostParams::default(), &wish).await.context("a request for a certificate")?;
    let name = asked.metadata.name.context("a request without a name")?;
    info!(request = name, signer, "asked");
    let signed = async {
        loop {
            let status = requests.get(&name).await.ok().and_then(|found| found.status);
            if let Some(ByteString(certificate)) = status.and_then(|status| status.certificate) {
                return certificate;
            }
            sleep(POLL_INTERVAL).await;
        }
    };
    match tokio::time::timeout(TIMEOUT, signed).await {
        Ok(certificate) => Ok(String::from_utf8(certificate)?),
        Err(_) => bail!("nobody has approved {name}"),
    }
}
