//! Which requests a host of the inventory may make.
//!
//! A host without a certificate asks as the node bootstrapper, whose credentials every host is installed with, for a
//! certificate as a client. Its node then asks for a certificate as a server, in its own name. The first says nothing but
//! a name, which must be a host's that has no ready node yet. The second must keep to the names and addresses of that one
//! host.

use std::collections::BTreeSet;
use std::net::IpAddr;

use assisted_wire::cluster::Cluster;
use k8s_openapi::api::certificates::v1::CertificateSigningRequestSpec;

use super::request::{Request, Unreadable};
use crate::host::{KnownHost, of_name};
use crate::node::Node;

const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const BOOTSTRAPPER: &str = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const BOOTSTRAPPER_GROUPS: &[&str] = &[
    "system:serviceaccounts:openshift-machine-config-operator",
    "system:serviceaccounts",
    "system:authenticated",
];
const NODE_PREFIX: &str = "system:node:";
const NODES: &str = "system:nodes";
const AUTHENTICATED: &str = "system:authenticated";

/// Why a request is not approved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("its own name is none that a kubelet's request has")]
    RequestName,
    #[error("{0}")]
    Unreadable(#[from] Unreadable),
    #[error("it is for another signer")]
    Signer,
    #[error("{user:?} may not ask for it")]
    Requestor { user: String },
    #[error("it asks for other usages than a kubelet's")]
    Usages,
    #[error("its organizations are not those of a node")]
    Organizations,
    #[error("{name:?} is no node's name")]
    CommonName { name: String },
    #[error("no host of the inventory is called {name:?}")]
    UnknownHost { name: String },
    #[error("{name:?} fits more than one host")]
    Ambiguous { name: String },
    #[error("the node {name:?} is ready already")]
    ReadyNode { name: String },
    #[error("a client has no names and addresses")]
    ClientNames,
    #[error("there is no node {name:?} yet")]
    NoNode { name: String },
    #[error("a server has at least one name or address")]
    NoNames,
    #[error("{name:?} is not a name of this host")]
    Name { name: String },
    #[error("{address} is not an address of this host")]
    Address { address: IpAddr },
}

/// What requests are held against.
pub struct Known<'a> {
    hosts: &'a [KnownHost],
    nodes: &'a [Node],
    /// The cluster's own addresses, which move between hosts.
    virtual_addresses: Vec<IpAddr>,
}

impl<'a> Known<'a> {
    pub fn new(cluster: &Cluster, hosts: &'a [KnownHost], nodes: &'a [Node]) -> Self {
        let api = cluster.api_vips.iter().flatten().map(|vip| &vip.ip);
        let ingress = cluster.ingress_vips.iter().flatten().map(|vip| &vip.ip);
        let virtual_addresses = api.chain(ingress).filter_map(|ip| ip.0.parse().ok()).collect();
        Self { hosts, nodes, virtual_addresses }
    }

    fn node(&self, name: &str) -> Option<&'a Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The one host that a node of this name is.
    fn host(&self, name: &str) -> Result<&'a KnownHost, Rejection> {
        let named = of_name(self.hosts, name);
        if let Ok(Some(host)) = named {
            return Ok(host);
        }
        // Its node may be known by its address, if it has one already.
        let addresses = self.node(name).map(|node| node.internal.as_slice()).unwrap_or_default();
        let has_one = |host: &&KnownHost| addresses.iter().any(|address| host.has_address(*address));
        let mut addressed = self.hosts.iter().filter(has_one);
        match (addressed.next(), addressed.next()) {
            (Some(host), None) if named.is_ok() || host.has_name(&name.to_lowercase()) => Ok(host),
            (None, _) if named.is_ok() => Err(Rejection::UnknownHost { name: name.to_owned() }),
            _ => Err(Rejection::Ambiguous { name: name.to_owned() }),
        }
    }

    /// The ready node that a host is by its name already.
    fn ready_node(&self, host: &KnownHost, name: &str) -> Option<&'a Node> {
        let is_host = |node: &Node| node.name.eq_ignore_ascii_case(name) || self.is_named(host, &node.name);
        self.nodes.iter().find(|node| node.ready && is_host(node))
    }

    /// Whether a name is this host's and nobody else's.
    fn is_named(&self, host: &KnownHost, name: &str) -> bool {
        matches!(of_name(self.hosts, name), Ok(Some(found)) if found.host.id == host.host.id)
    }

    /// Whether a server of this host and node may have an address: one that the inventory knows of it; or one that its
    /// node has since been given in the same network, and that belongs to nobody else.
    fn may_have(&self, host: &KnownHost, node: &Node, address: IpAddr) -> bool {
        if self.virtual_addresses.contains(&address) {
            return false;
        }
        let of_another =
            self.hosts.iter().any(|other| other.host.id != host.host.id && other.has_address(address));
        let of_another_node =
            self.nodes.iter().any(|other| other.name != node.name && other.addresses.contains(&address));
        host.has_address(address) && !of_another
            || node.addresses.contains(&address) && host.is_near(address) && !of_another && !of_another_node
    }
}

/// Whether a request is for a certificate of a kubelet at all.
pub fn is_of_kubelets(spec: &CertificateSigningRequestSpec) -> bool {
    matches!(spec.signer_name.as_str(), CLIENT | SERVING)
}

/// Whether a request is for a certificate of a kubelet as a server.
pub fn is_serving(spec: &CertificateSigningRequestSpec) -> bool {
    spec.signer_name == SERVING
}

/// Whether a request's own name is harmless wherever it is shown: in an address, and in a command for a shell.
/// Kubernetes takes nearly any text.
pub fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.len() <= 253
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

/// The node that a request is for, as the request has it.
pub fn node_name(spec: &CertificateSigningRequestSpec) -> Option<String> {
    let request = Request::read(&spec.request.0).ok()?;
    request.common_name.strip_prefix(NODE_PREFIX).map(str::to_owned)
}

/// Whether a request is one of those above.
pub fn check(name: &str, spec: &CertificateSigningRequestSpec, known: &Known<'_>) -> Result<(), Rejection> {
    if !is_plain(name) {
        return Err(Rejection::RequestName);
    }
    let request = Request::read(&spec.request.0)?;
    let node = request
        .common_name
        .strip_prefix(NODE_PREFIX)
        .filter(|name| !name.is_empty())
        .ok_or_else(|| Rejection::CommonName { name: request.common_name.clone() })?;
    if request.organizations != [NODES] {
        return Err(Rejection::Organizations);
    }
    match spec.signer_name.as_str() {
        CLIENT => check_client(spec, &request, node, known),
        SERVING => check_serving(spec, &request, node, known),
        _ => Err(Rejection::Signer),
    }
}

fn check_client(
    spec: &CertificateSigningRequestSpec,
    request: &Request,
    node: &str,
    known: &Known<'_>,
) -> Result<(), Rejection> {
    usages(spec, "client auth")?;
    let user = spec.username.as_deref().unwrap_or_default();
    let renews = user == request.common_name && groups(spec).is_superset(&[NODES, AUTHENTICATED].into());
    let bootstraps = user == BOOTSTRAPPER && groups(spec) == BOOTSTRAPPER_GROUPS.iter().copied().collect();
    if !renews && !bootstraps {
        return Err(Rejection::Requestor { user: user.to_owned() });
    }
    if !request.dns_names.is_empty() || !request.addresses.is_empty() {
        return Err(Rejection::ClientNames);
    }
    let host = known.host(node)?;
    // Every host has the bootstrapper's credentials: none may take the place of a node that runs, nor stand beside it
    // under another form of its name.
    match known.ready_node(host, node) {
        Some(ready) if bootstraps => Err(Rejection::ReadyNode { name: ready.name.clone() }),
        _ => Ok(()),
    }
}

fn check_serving(
    spec: &CertificateSigningRequestSpec,
    request: &Request,
    name: &str,
    known: &Known<'_>,
) -> Result<(), Rejection> {
    usages(spec, "server auth")?;
    let user = spec.username.as_deref().unwrap_or_default();
    if user != request.common_name || !groups(spec).is_superset(&[NODES, AUTHENTICATED].into()) {
        return Err(Rejection::Requestor { user: user.to_owned() });
    }
    if request.dns_names.is_empty() && request.addresses.is_empty() {
        return Err(Rejection::NoNames);
    }
    let node = known.node(name).ok_or_else(|| Rejection::NoNode { name: name.to_owned() })?;
    let host = known.host(name)?;
    let own = name.to_lowercase();
    for dns in &request.dns_names {
        let told = || node.names.iter().any(|known| known.eq_ignore_ascii_case(dns));
        let of_another = || {
            known.hosts.iter().any(|other| other.host.id != host.host.id && other.names.contains(dns))
                || known.nodes.iter().any(|other| other.name != name && other.name.eq_ignore_ascii_case(dns))
        };
        if *dns != own && (of_another() || !(told() && known.is_named(host, dns))) {
            return Err(Rejection::Name { name: dns.clone() });
        }
    }
    match request.addresses.iter().find(|address| !known.may_have(host, node, **address)) {
        Some(address) => Err(Rejection::Address { address: *address }),
        None => Ok(()),
    }
}

fn groups(spec: &CertificateSigningRequestSpec) -> BTreeSet<&str> {
    spec.groups.iter().flatten().map(String::as_str).collect()
}

/// Exactly those of a kubelet: newer ones leave out what their key can't do.
fn usages(spec: &CertificateSigningRequestSpec, purpose: &str) -> Result<(), Rejection> {
    let mut usages: BTreeSet<_> = spec.usages.iter().flatten().map(String::as_str).collect();
    usages.remove("key encipherment");
    if usages == [purpose, "digital signature"].into() { Ok(()) } else { Err(Rejection::Usages) }
}

#[cfg(test)]
mod tests;
