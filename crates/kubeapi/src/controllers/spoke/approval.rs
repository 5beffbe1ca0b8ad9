//! Requests for certificates of the nodes of hosts that join a cluster (kube-api §6.4.11).
//!
//! They are held against the same rules as those of the hosts that the cluster was installed with.

use std::collections::{BTreeMap, BTreeSet};

use assisted_base::error::chain;
use assisted_crd::agent_install::agent::ApprovedCsr;
use assisted_kube::csr::{self, rules};
use assisted_kube::host::{KnownHost, of_name};
use assisted_kube::node::Node;
use assisted_wire::cluster::Cluster;
use assisted_wire::id::HostId;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::joining::{CLIENT, SERVING};

/// Requests that are read at once.
const PAGE: u32 = 500;
/// Pages at most: whoever has the credentials of new nodes can make requests without end.
const PAGES: usize = 20;

/// Requests that are approved, by their hosts.
pub(super) type Approved = BTreeMap<HostId, Vec<ApprovedCsr>>;

/// Approves the requests of the hosts that `wanted` names, of a cluster's `hosts`; and gives those that are approved, by whomever.
/// One that can't be approved is passed over.
///
/// # Errors
/// They can't be listed.
pub(super) async fn approve(
    client: &Client,
    cluster: &Cluster,
    hosts: &[KnownHost],
    nodes: &[Node],
    wanted: &BTreeSet<HostId>,
) -> Result<Approved, kube::Error> {
    let mut approved = Approved::new();
    if wanted.is_empty() {
        return Ok(approved);
    }
    let api = Api::<CertificateSigningRequest>::all(client.clone());
    let known = rules::Known::new(cluster, hosts, nodes);
    let mut params = ListParams::default().limit(PAGE);
    for _ in 0..PAGES {
        let page = api.list(&params).await?;
        for request in &page.items {
            let Some(host) = host_of(hosts, request).filter(|id| wanted.contains(id)) else { continue };
            let at = match csr::approved_at(request) {
                Some(at) => at.clone(),
                None if !csr::is_pending(request) => continue,
                None => match rules::check(&request.name_any(), &request.spec, &known) {
                    Err(why) => {
                        tracing::warn!(request = request.name_any(), %host, %why, "a request of a joining node is not approved");
                        continue;
                    }
                    Ok(()) => match csr::approve(&api, request, "assisted-service").await {
                        Ok(at) => at,
                        Err(error) => {
                            tracing::warn!(request = request.name_any(), %host, error = chain(&error), "a request can't be approved");
                            continue;
                        }
                    },
                },
            };
            let kind = if rules::is_serving(&request.spec) { SERVING } else { CLIENT };
            approved.entry(host).or_default().push(ApprovedCsr {
                approved_at: at,
                name: request.name_any(),
                r#type: kind.to_owned(),
            });
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(approved),
        }
    }
    Ok(approved)
}

/// The host whose node a request is for, by its name.
fn host_of(hosts: &[KnownHost], request: &CertificateSigningRequest) -> Option<HostId> {
    let name = rules::node_name(&request.spec).filter(|_| rules::is_of_kubelets(&request.spec))?;
    of_name(hosts, &name).ok().flatten().map(|host| host.host.id)
}
