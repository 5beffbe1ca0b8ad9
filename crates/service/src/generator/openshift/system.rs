//! The manifests that the service adds for a cluster (install-generation §8).

use std::collections::BTreeMap;
use std::net::IpAddr;

use assisted_core::admission::field::disk_encryption::tang_servers;
use assisted_core::admission::field::ntp;
use assisted_core::catalogue::operators::{ClusterView, subscription};
use assisted_core::decide::host::steps::time_sources;
use assisted_core::model::facts::HostFacts;
use assisted_core::model::report::ReportKind;
use assisted_core::model::topology;
use assisted_ignition::install::manifest::{self, DiskUnlock, Manifest, Names, TimeSources};
use assisted_wire::cluster::{Cluster, DiskEncryptionMode};
use assisted_wire::host::HostRole;
use assisted_wire::probe_responses::NtpSource;
use serde_json::{Value, json};

use super::cluster_input::ClusterInput;
use super::is_fips;

/// Ciphers of encrypted disks, unless another is asked for.
const CIPHER: &str = "aes-cbc-essiv:sha256";
const FIPS_CIPHER: &str = "aes-xts-plain64";

/// The operator whose dashboard has a name of its own.
const OPENSHIFT_AI: &str = "openshift-ai";
const DASHBOARD: &str = "rhods-dashboard-redhat-ods-applications";

/// For a controller that has no service to ask.
const OPERATORS: &str = "olm_operator_manifests.yaml";

/// Why there are no manifests.
#[derive(Debug, thiserror::Error)]
pub(super) enum SystemError {
    #[error("Tang can't unlock disks: {0}")]
    Tang(String),
    #[error("the only host has no address in the machine network, so it can't be its own name server")]
    NoAddress,
}

/// All of them, in the order in which they are listed by the reference.
pub(super) fn manifests(known: &ClusterInput) -> Result<Vec<Manifest>, SystemError> {
    let (facts, cluster) = (&known.facts, &known.record.cluster);
    let sources = sources(known);
    let mut all: Vec<Manifest> =
        roles(known).into_iter().map(|role| manifest::chrony(role, &sources)).collect();
    if topology::is_single_node(cluster) && facts.policy.clusters.enable_single_node_dnsmasq {
        all.push(dnsmasq(known)?);
    }
    if let Some(view) = ClusterView::of(facts) {
        let subscribed = subscription::manifests(&view);
        all.extend(subscribed.into_iter().map(|(name, object)| Manifest::new(name, &object)));
        let files = subscription::objects_in_cluster(&view);
        if !files.is_empty() {
            all.push(Manifest::new(OPERATORS, &operator_files(&files)));
        }
    }
    all.extend(manifest::telemetry(&facts.policy.service.service_base_url));
    let forced = topology::masters_schedulable_forced(cluster, &facts.hosts);
    if forced || cluster.schedulable_masters {
        all.push(manifest::schedulable_masters());
    }
    all.extend(encryption(known)?);
    all.extend(roles(known).into_iter().map(manifest::iscsi));
    Ok(all)
}

/// Objects of operators, where the cluster's own controller finds them.
fn operator_files(files: &BTreeMap<String, String>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "olm-operator-manifests", "namespace": "assisted-installer"}, "data": files,
    })
}

/// The roles whose nodes are configured: those that a cluster always may have, and arbiters.
fn roles(known: &ClusterInput) -> Vec<HostRole> {
    let mut roles = vec![HostRole::Master, HostRole::Worker];
    roles.extend(known.has_arbiters().then_some(HostRole::Arbiter));
    roles
}

/// What the hosts use, then what was asked for: the report of a host may be older than the wish.
fn sources(known: &ClusterInput) -> TimeSources {
    let hosts = || known.facts.hosts.iter();
    let reported = hosts().flat_map(reported);
    let wanted = hosts().next().map(|host| time_sources(&known.facts, host)).unwrap_or_default();
    let wanted = wanted.split(',').map(str::trim).map(str::to_owned).collect::<Vec<_>>();
    let mut servers: Vec<String> = Vec::new();
    for server in reported.chain(wanted) {
        // What hosts tell may be anything, and is a line of a file here.
        if ntp::check(&server.to_ascii_lowercase()).is_ok()
            && !server.contains(',')
            && !servers.contains(&server)
        {
            servers.push(server);
        }
    }
    TimeSources { only: !known.record.cluster.ntp_sources.is_empty(), servers }
}

fn reported(host: &HostFacts) -> Vec<String> {
    let sources: Vec<NtpSource> =
        serde_json::from_str(host.report(ReportKind::NtpSources)).unwrap_or_default();
    sources.into_iter().map(|source| source.source_name).collect()
}

fn dnsmasq(known: &ClusterInput) -> Result<Manifest, SystemError> {
    let cluster = &known.record.cluster;
    let ip: Option<IpAddr> = known.bootstrap_ip().and_then(|ip| ip.parse().ok());
    let has_dashboard = known.operators().contains(&OPENSHIFT_AI);
    Ok(manifest::dnsmasq(&Names {
        cluster: &cluster.name,
        domain: &cluster.base_dns_domain,
        ip: ip.ok_or(SystemError::NoAddress)?,
        further: if has_dashboard { &[DASHBOARD] } else { &[] },
    }))
}

fn encryption(known: &ClusterInput) -> Result<Vec<Manifest>, SystemError> {
    let cluster: &Cluster = &known.record.cluster;
    let Some(encryption) = &cluster.disk_encryption else { return Ok(Vec::new()) };
    let Some(covered) = encryption.enable_on else { return Ok(Vec::new()) };
    let lock = match encryption.mode {
        Some(DiskEncryptionMode::Tang) => {
            DiskUnlock::Tang(tang_servers(&encryption.tang_servers).map_err(SystemError::Tang)?)
        }
        Some(DiskEncryptionMode::Tpmv2) | None => DiskUnlock::Tpm,
    };
    let cipher = match known.facts.policy.clusters.disk_encryption_cipher.as_str() {
        "" if is_fips() => FIPS_CIPHER,
        "" => CIPHER,
        asked => asked,
    };
    let encrypted = roles(known).into_iter().filter(|role| topology::covers(covered, *role));
    Ok(encrypted.map(|role| manifest::disk_encryption(role, &lock, cipher)).collect())
}
