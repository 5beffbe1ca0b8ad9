//! `api-`, `api-int-` and `apps-domain-name-resolved-correctly`: with user-managed networking the user's DNS knows the
//! cluster's names (validations §2.6).

use assisted_ignition_spec::Excerpt;
use assisted_wire::cluster::Cluster;
use assisted_wire::probe_responses::{ApiVipConnectivityResponse, DomainResolutionResponse};
use serde::Deserialize;

use super::{View, dns_wildcard};
use crate::model::facts::HostFacts;
use crate::model::outcome::Outcome;
use crate::model::report::ReportKind;
use crate::model::topology;
use crate::network::address;
use crate::validation::scope::{Report, Scope};

struct Domain {
    /// What stands before the cluster's domain in the name that is resolved.
    prefix: &'static str,
    /// What stands there in messages.
    printed: &'static str,
    target: &'static str,
}

const API: Domain = Domain { prefix: "api", printed: "api", target: "API load balancer" };
const API_INT: Domain =
    Domain { prefix: "api-int", printed: "api-int", target: "internal API load balancer" };
const APPS: Domain =
    Domain { prefix: "console-openshift-console.apps", printed: "*.apps", target: "application ingress" };

pub(super) fn check_api(view: &View<'_>) -> Outcome {
    check(view, &API)
}

pub(super) fn check_api_int(view: &View<'_>) -> Outcome {
    check(view, &API_INT)
}

pub(super) fn check_apps(view: &View<'_>) -> Outcome {
    check(view, &APPS)
}

fn check(view: &View<'_>, domain: &Domain) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    let target = domain.target;
    let base = &cluster.base_dns_domain;
    let printed = if base.is_empty() {
        target.to_owned()
    } else {
        format!("{}.{}.{base}", domain.printed, cluster.name)
    };
    let satisfied = || {
        Outcome::success(format!(
            "Domain name resolution for the {printed} domain was successful or not required"
        ))
    };
    match is_managed(view.scope, cluster) {
        None => {
            return Outcome::pending(format!(
                "DNS validation for the {printed} domain cannot be completed at the moment. This could be due to other \
                 validations"
            ))
            .remedy("Wait until the host reached the cluster that it joins: see the validation ignition-downloadable.");
        }
        Some(true) => return satisfied(),
        Some(false) => {}
    }
    let dnsmasq = view.facts.policy.clusters.enable_single_node_dnsmasq;
    // Records of a managed domain are made when the installation begins.
    let managed = view.facts.policy.clusters.managed_domains.contains(base);
    if (dnsmasq || managed) && topology::is_single_node(cluster) && !topology::is_day2(cluster) {
        return satisfied();
    }
    if base.is_empty() {
        return Outcome::error(format!(
            "DNS validation for the {target} domain cannot be completed because the cluster does not have \
             base_dns_domain set. Please update the cluster with the correct base_dns_domain"
        ))
        .measured("no base domain")
        .required("a base domain")
        .remedy("Set the cluster's base_dns_domain.");
    }
    let Report::Read(report) = view.report::<DomainResolutionResponse>(ReportKind::DomainNameResolutions)
    else {
        return Outcome::error("Error while evaluating DNS resolution on this host")
            .remedy("Wait: the host is asked again.");
    };
    let name = format!("{}.{}.{base}", domain.prefix, cluster.name);
    let resolution = report.resolutions.iter().find(|each| each.domain_name == name);
    let resolved = resolution.map(dns_wildcard::targets).unwrap_or_default();
    if resolved.is_empty() {
        return Outcome::failure(format!(
            "Couldn't resolve domain name {printed} on the host. To continue installation, create the necessary DNS \
             entries to resolve this domain name to your cluster's {target} IP address"
        ))
        .measured(format!("{name} does not resolve"))
        .required(format!("the address of the {target}"))
        .remedy("Create the DNS record, and hand out the name server that knows it to the host.");
    }
    let own: Vec<&str> = view
        .inventory
        .into_iter()
        .flat_map(|inventory| inventory.interfaces.iter().flatten())
        .flat_map(address::texts)
        .collect();
    if let Some(same) = resolved.iter().find(|each| own.contains(&each.as_str())) {
        return Outcome::failure(format!(
            "Domain {printed} must not point at {same} as it is the API address of this host. This domain must instead \
             point at the IP address of a load balancer when using user managed networking in a multi control-plane \
             node cluster"
        ))
        .measured(format!("{name} resolves to {same}, the host itself"))
        .required(format!("the address of the {target}"))
        .remedy("Point the DNS record at a load balancer before the control plane nodes.");
    }
    satisfied().measured(resolved.join(", "))
}

/// Whether the cluster resolves its names by itself; `None`: nobody can know yet.
fn is_managed(scope: &Scope<'_>, cluster: &Cluster) -> Option<bool> {
    if !cluster.imported {
        return Some(!topology::is_user_managed_networking(cluster));
    }
    *scope.managed.get_or_init(|| {
        let mut answers = scope.facts.hosts.iter().filter_map(answer).peekable();
        answers.peek()?;
        let first = answers.find_map(|answer| Excerpt::read(answer.ignition.as_bytes()).ok());
        Some(first.is_none_or(|ignition| has_own_resolver(&ignition)))
    })
}

fn answer(host: &HostFacts) -> Option<ApiVipConnectivityResponse> {
    match Report::<ApiVipConnectivityResponse>::read(host.report(ReportKind::ApiVipConnectivity)) {
        Report::Read(answer) if answer.is_success => Some(answer),
        _ => None,
    }
}

/// As much of a kubeconfig as tells where its API servers are.
#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<NamedCluster>,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: Server,
}

#[derive(Deserialize)]
struct Server {
    server: String,
}

impl Kubeconfig {
    /// Whether the one API server goes by its address, not by a name.
    fn names_an_address(&self) -> bool {
        let [NamedCluster { cluster }] = self.clusters.as_slice() else { return false };
        let url = url::Url::parse(&cluster.server).ok();
        url.is_some_and(|url| matches!(url.host(), Some(url::Host::Ipv4(_) | url::Host::Ipv6(_))))
    }
}

/// Whether the cluster of a config serves its own names.
fn has_own_resolver(config: &Excerpt) -> bool {
    config.storage.files.iter().any(|file| match file.path.as_str() {
        "/etc/kubernetes/manifests/coredns.yaml" | "/etc/kubernetes/manifests/keepalived.yaml" => true,
        "/etc/kubernetes/kubeconfig" => {
            let text = file.contents.data().unwrap_or_default();
            serde_yaml_ng::from_slice(&text).is_ok_and(|config: Kubeconfig| config.names_an_address())
        }
        _ => false,
    })
}
