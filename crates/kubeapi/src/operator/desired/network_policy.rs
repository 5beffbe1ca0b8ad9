//! Network policies: who may reach what runs, and what it may reach.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::settings::mirrored_locations;
use super::{Input, object};
use crate::operator::{IMAGE_SERVICE, SERVICE, WEBHOOK};

pub(super) fn api(input: &Input<'_>) -> Value {
    policy(input, SERVICE, &[8090, 8091, 9443], &[])
}

pub(super) fn images(input: &Input<'_>) -> Value {
    let to_api = json!({
        "to": [{"podSelector": {"matchLabels": {"app": SERVICE}}}],
        "ports": [{"protocol": "TCP", "port": 8090}],
    });
    policy(input, IMAGE_SERVICE, &[8080, 8081], &[to_api])
}

pub(super) fn webhook(input: &Input<'_>) -> Value {
    policy(input, WEBHOOK, &[9443], &[])
}

fn policy(input: &Input<'_>, name: &str, ports: &[u16], more: &[Value]) -> Value {
    let port = |port: &u16| json!({"protocol": "TCP", "port": port});
    let dns = if input.facts.is_openshift {
        let namespace = json!({"kubernetes.io/metadata.name": "openshift-dns"});
        json!({
            "to": [{"namespaceSelector": {"matchLabels": namespace}}],
            "ports": [{"protocol": "UDP", "port": 5353}, {"protocol": "TCP", "port": 5353}],
        })
    } else {
        json!({"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]})
    };
    let outside: Vec<_> = outside(input).iter().map(port).collect();
    let egress = [dns, json!({"ports": outside})].into_iter().chain(more.iter().cloned()).collect::<Vec<_>>();
    let mut policy = object(input, "networking.k8s.io/v1", "NetworkPolicy", name);
    policy["spec"] = json!({
        "podSelector": {"matchLabels": {"app": name}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [
            {"from": [{"podSelector": {}}]},
            {"ports": ports.iter().map(port).collect::<Vec<_>>()},
        ],
        "egress": egress,
    });
    policy
}

/// Where PostgreSQL listens unless something else is said.
const POSTGRESQL: u16 = 5432;

/// Ports that are reached anywhere: API servers, HTTPS, and those that proxies, mirrors and images are at, and what settings of
/// somebody's own lead to: a database, a bucket, a collector, brokers.
fn outside(input: &Input<'_>) -> BTreeSet<u16> {
    let environment = input.environment;
    let mut ports = BTreeSet::from([443, 6443]);
    ports.extend(input.hosted.and_then(|hosted| hosted.port));
    let images = input.config.spec.os_images.iter().map(|image| image.url.as_str());
    let proxies = [environment.http_proxy.as_str(), environment.https_proxy.as_str()];
    ports.extend(images.chain(proxies).filter_map(port_of_url));
    let mirrors = mirrored_locations(input).unwrap_or_default();
    ports.extend(mirrors.mirrors.iter().filter_map(|location| port_of_location(location)));
    let own = input.facts.settings.iter().flatten();
    ports.extend(own.flat_map(|(name, value)| ports_of_setting(name, value)));
    ports
}

/// The ports that a variable of the service leads to.
fn ports_of_setting(name: &str, value: &str) -> Vec<u16> {
    let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
    match name {
        "DB_HOST" => parts.map(|_| POSTGRESQL).collect(),
        "DB_PORT" => parts.filter_map(|port| port.parse().ok()).collect(),
        "KAFKA_BOOTSTRAP_SERVER" => parts.filter_map(port_of_location).collect(),
        "S3_ENDPOINT_URL" if !value.contains("://") => parts.filter_map(port_of_location).collect(),
        _ => {
            let default = value.starts_with("postgres").then_some(POSTGRESQL);
            port_of_url(value).or(default).into_iter().collect()
        }
    }
}

fn port_of_url(url: &str) -> Option<u16> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority);
    port_of_location(authority).or((scheme == "http").then_some(80))
}

/// The port of `host:port/path`.
fn port_of_location(location: &str) -> Option<u16> {
    let authority = location.split('/').next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}
