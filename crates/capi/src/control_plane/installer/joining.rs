//! Nodes that join a running cluster ask for certificates. With a hub its controllers approve them; with a service alone it is done
//! here, by the same rules: what is asked for has to fit a host that the service knows.

use assisted_base::error::chain;
use assisted_kube::csr::{self, rules};
use assisted_kube::host::{KnownHost, of_name};
use assisted_kube::node;
use assisted_wire::cluster::Cluster;
use assisted_wire::host::{Host, HostKind, HostStage, HostStatus};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::control_plane::workload::limited;

/// Who approves.
const BY: &str = "assisted-capi-control-plane";
/// Requests that are read at once, and pages at most: whoever has the credentials of new nodes can make requests without end.
const PAGE: u32 = 500;
const PAGES: usize = 20;

/// Whether a host has been installed into the running cluster, and may ask.
fn may_ask(host: &Host) -> bool {
    host.kind == HostKind::AddToExistingClusterHost
        && (host.status == HostStatus::AddedToExistingCluster
            || host.status == HostStatus::InstallingPendingUserAction
            || matches!(
                host.stage(),
                Some(HostStage::Rebooting | HostStage::Configuring | HostStage::Joined | HostStage::Done)
            ))
}

/// Approves what hosts ask for that join; whether some of them are no nodes that are ready yet.
pub(super) async fn approve(client: &Client, cluster: &Cluster, hosts: Vec<Host>) -> Result<bool, String> {
    if !hosts.iter().any(may_ask) {
        let is_installed = |host: &Host| host.status == HostStatus::Installed;
        return Ok(hosts.iter().any(|host| !is_installed(host)));
    }
    let hosts: Vec<_> = hosts.into_iter().map(KnownHost::of).collect();
    let nodes = limited(node::list(client)).await?;
    let api = Api::<CertificateSigningRequest>::all(client.clone());
    let known = rules::Known::new(cluster, &hosts, &nodes);
    let mut params = ListParams::default().limit(PAGE);
    for _ in 0..PAGES {
        let page = limited(api.list(&params)).await?;
        for request in page.items.iter().filter(|request| csr::is_pending(request)) {
            let name = rules::node_name(&request.spec).filter(|_| rules::is_of_kubelets(&request.spec));
            let Some(name) = name else { continue };
            let host = of_name(&hosts, &name).ok().flatten();
            if !host.is_some_and(|host| may_ask(&host.host)) {
                continue;
            }
            let request_name = request.name_any();
            match rules::check(&request_name, &request.spec, &known) {
                Ok(()) => {
                    let approved = csr::approve(&api, request, BY).await;
                    approved.map_err(|error| format!("the request {request_name}: {}", chain(&error)))?;
                    tracing::info!(request = request_name, node = name, "approved");
                }
                Err(why) => tracing::warn!(request = request_name, %why, "a request is not approved"),
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    let is_ready = |host: &KnownHost| nodes.iter().any(|node| node.ready && host.has_name(&node.name));
    Ok(hosts.iter().any(|host| !is_ready(host)))
}
