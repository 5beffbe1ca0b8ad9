//! The arguments of each step: one JSON text each, or as the step wants them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use assisted_wire::cluster::{Cluster, DiskEncryptionMode};
use assisted_wire::host::{HostRole, HostStatus};
use assisted_wire::inventory::Inventory;
use assisted_wire::probe_requests::{
    ApiVipConnectivityAdditionalRequestHeader, ApiVipConnectivityRequest, ConnectivityCheckHost,
    ConnectivityCheckNic, DiskSpeedCheckRequest, DomainResolutionRequest, FreeAddressesRequest,
    NtpSynchronizationRequest, TangConnectivityRequest, VerifyVip, VerifyVipsRequest, VipType,
};
use assisted_wire::probe_responses::ApiVipConnectivityResponse;
use assisted_wire::step::StepType;
use ipnet::IpNet;
use serde::Serialize;
use serde_json::{Value, json};

use super::{dhcp, images, install, logs, reclaim};
use crate::model::facts::{Facts, HostFacts, takes_part};
use crate::model::infra_env::InfraEnvRecord;
use crate::model::report::ReportKind;
use crate::model::{disk, embedded, topology};
use crate::network::address;
use crate::state::host::rule_context::{boots_persistently, keeps_partitions};

/// The arguments of a step that needs nothing but facts; `None`: the step is left out.
pub(super) fn of(step: StepType, facts: &Facts, host: &HostFacts) -> Option<Vec<String>> {
    let record = facts.cluster.as_ref();
    let cluster = record.map(|record| &record.cluster);
    match step {
        StepType::Inventory => Some(inventory(facts, host)),
        StepType::NtpSynchronizer => {
            one(&NtpSynchronizationRequest { ntp_source: time_sources(facts, host) })
        }
        StepType::DomainResolution => one(&domains(cluster?, host)?),
        StepType::FreeNetworkAddresses => one(&free_addresses(host.inventory.as_deref()?)?),
        StepType::VerifyVips => one(&vips(cluster?)?),
        StepType::TangConnectivityCheck => one(&tang(cluster?, host)?),
        StepType::ApiVipConnectivityCheck => one(&ignition(cluster?, host)?),
        StepType::DhcpLeaseAllocate => one(&dhcp::request(record?, host)?),
        StepType::InstallationDiskSpeedCheck => disk_speed(facts, host),
        StepType::ContainerImageAvailability => one(&images::request(facts, record?, host)?),
        StepType::Install => one(&install::request(facts, record?, host)?),
        StepType::LogsGather => one(&logs::request(facts, record?, host)?),
        StepType::StopInstallation => Some(Vec::new()),
        StepType::DownloadBootArtifacts => one(&reclaim::download(facts, host)?),
        StepType::RebootForReclaim => one(&reclaim::reboot()),
        // Made with the others' addresses, or with the agent's image; the last two are given by no state.
        StepType::ConnectivityCheck
        | StepType::UpgradeAgent
        | StepType::Execute
        | StepType::NextStepRunner => None,
    }
}

fn one<T: Serialize>(request: &T) -> Option<Vec<String>> {
    Some(vec![serde_json::to_string(request).ok()?])
}

fn inventory(facts: &Facts, host: &HostFacts) -> Vec<String> {
    let hosts = &facts.policy.hosts;
    let limits = [
        ("--output-max-size", hosts.agent_inventory_max_size),
        ("--disk-min-size", hosts.agent_inventory_disk_min_size),
    ];
    let limits = limits.iter().filter(|(_, limit)| *limit > 0).map(|(flag, limit)| format!("{flag}={limit}"));
    std::iter::once(host.record.host.id.to_string()).chain(limits).collect()
}

/// The disk, and the time limit in seconds. Not for a disk that was measured, or must not be written to.
fn disk_speed(facts: &Facts, host: &HostFacts) -> Option<Vec<String>> {
    let fields = &host.record.host;
    let (inventory, disk) = (host.inventory.as_deref()?, disk::chosen(fields));
    let known = disk::speed_of(host.report(ReportKind::DisksInfo), disk);
    if disk.is_empty()
        || known.is_some()
        || boots_persistently(inventory)
        || keeps_partitions(&embedded::installer_args(fields))
    {
        return None;
    }
    let request = serde_json::to_string(&DiskSpeedCheckRequest { path: disk.to_owned() }).ok()?;
    Some(vec![request, format!("{:.2}", facts.policy.hosts.disk_check_timeout.as_secs_f64())])
}

/// The cluster's own sources, else its additional ones, else those of the infra-envs of its hosts; separated by commas.
pub fn time_sources(facts: &Facts, host: &HostFacts) -> String {
    let of_infra_env = |record: &InfraEnvRecord| {
        let own = &record.infra_env;
        if own.ntp_sources.is_empty() { own.additional_ntp_sources.clone() } else { own.ntp_sources.clone() }
    };
    let Some(record) = &facts.cluster else {
        return facts.infra_envs.get(&host.key().infra_env_id).map(of_infra_env).unwrap_or_default();
    };
    let own = [&record.cluster.ntp_sources, &record.cluster.additional_ntp_source];
    if let Some(own) = own.into_iter().find(|sources| !sources.is_empty()) {
        return own.clone();
    }
    let used: BTreeSet<_> = facts.hosts.iter().map(|host| host.key().infra_env_id).collect();
    let mut union: Vec<String> = Vec::new();
    for sources in used.iter().filter_map(|id| facts.infra_envs.get(id)).map(of_infra_env) {
        for source in sources.split(',').map(str::trim).filter(|source| !source.is_empty()) {
            if !union.iter().any(|known| known == source) {
                union.push(source.to_owned());
            }
        }
    }
    union.join(",")
}

fn domains(cluster: &Cluster, host: &HostFacts) -> Option<DomainResolutionRequest> {
    let (name, base) = (&cluster.name, &cluster.base_dns_domain);
    if name.is_empty() || base.is_empty() {
        return None;
    }
    let mut domains = vec![
        format!("api.{name}.{base}"),
        format!("api-int.{name}.{base}"),
        format!("console-openshift-console.apps.{name}.{base}"),
        // Absolute, then relative: the pair tells a wildcard record from a search domain.
        format!("validateNoWildcardDNS.{name}.{base}."),
        format!("validateNoWildcardDNS.{name}.{base}"),
    ];
    if !host.is_day2() {
        domains.extend(registry(&cluster.ocp_release_image).map(str::to_owned));
    }
    let domains = domains.into_iter().map(|domain| json!({"domain_name": domain})).collect();
    Some(DomainResolutionRequest { domains })
}

/// The registry's name in a reference of an image, unless it is an address.
fn registry(image: &str) -> Option<&str> {
    let (registry, _) = image.split_once('/')?;
    let name = registry.rsplit_once(':').map_or(registry, |(name, _)| name);
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    (!name.is_empty() && !is_address).then_some(name)
}

/// The host's IPv4 networks that are small enough to be looked through.
fn free_addresses(inventory: &Inventory) -> Option<FreeAddressesRequest> {
    let networks: BTreeSet<_> = address::of_inventory(inventory)
        .filter_map(|address| match address.network() {
            IpNet::V4(network) if network.prefix_len() >= 22 => Some(network),
            _ => None,
        })
        .collect();
    let networks: Vec<_> = networks.iter().map(ToString::to_string).collect();
    (!networks.is_empty()).then_some(FreeAddressesRequest(networks))
}

fn vips(cluster: &Cluster) -> Option<VerifyVipsRequest> {
    let api = cluster.api_vips.iter().flatten().map(|vip| (&vip.ip, VipType::Api));
    let ingress = cluster.ingress_vips.iter().flatten().map(|vip| (&vip.ip, VipType::Ingress));
    let vips: Vec<_> = api
        .chain(ingress)
        .filter(|(ip, _)| !ip.0.is_empty())
        .map(|(ip, kind)| VerifyVip { vip: ip.clone(), vip_type: Some(kind) })
        .collect();
    (!vips.is_empty()).then_some(VerifyVipsRequest(vips))
}

/// Only when the disk of a host in this role is to be encrypted with keys from Tang servers.
fn tang(cluster: &Cluster, host: &HostFacts) -> Option<TangConnectivityRequest> {
    if host.is_day2() {
        return tang_of_ignition(host);
    }
    let encryption = cluster.disk_encryption.as_ref()?;
    let role = host.effective_role();
    let wanted = encryption.mode == Some(DiskEncryptionMode::Tang)
        && encryption.enable_on.is_some_and(|roles| topology::covers(roles, role));
    wanted.then(|| TangConnectivityRequest { tang_servers: encryption.tang_servers.clone() })
}

/// The Tang servers of the cluster that a host joins, out of the Ignition config that it fetched there.
fn tang_of_ignition(host: &HostFacts) -> Option<TangConnectivityRequest> {
    let fetched: ApiVipConnectivityResponse =
        serde_json::from_str(host.report(ReportKind::ApiVipConnectivity)).ok()?;
    let ignition: Value = serde_json::from_str(&fetched.ignition).ok()?;
    let disks = ignition["storage"]["luks"].as_array()?;
    let servers =
        disks.iter().find_map(|disk| disk["clevis"]["tang"].as_array().filter(|all| !all.is_empty()))?;
    let servers: Vec<_> = servers
        .iter()
        .map(|server| json!({"url": server["url"], "thumbprint": server["thumbprint"]}))
        .collect();
    Some(TangConnectivityRequest { tang_servers: Value::from(servers).to_string() })
}

/// Where a host that joins an installed cluster gets its Ignition config (agent-protocol §2.4.5).
fn ignition(cluster: &Cluster, host: &HostFacts) -> Option<ApiVipConnectivityRequest> {
    let pool = match host.record.host.machine_config_pool_name.as_str() {
        "" => match host.effective_role() {
            HostRole::AutoAssign => HostRole::Worker.as_str(),
            role => role.as_str(),
        },
        pool => pool,
    };
    let endpoint = cluster.ignition_endpoint.as_ref();
    let ca = endpoint.and_then(|endpoint| endpoint.ca_certificate.clone()).filter(|ca| !ca.is_empty());
    let own = endpoint.and_then(|endpoint| endpoint.url.as_deref()).filter(|url| !url.is_empty());
    let url = match (own, cluster.api_vip_dns_name.as_deref().filter(|name| !name.is_empty())) {
        (Some(url), _) => format!("{}/{pool}", url.trim_end_matches('/')),
        (None, Some(name)) if ca.is_some() => {
            let name =
                name.strip_prefix("api.").map_or_else(|| name.to_owned(), |rest| format!("api-int.{rest}"));
            format!("https://{}:22623/config/{pool}", bracketed(&name))
        }
        (None, Some(name)) => format!("http://{}:22624/config/{pool}", bracketed(name)),
        (None, None) => return None,
    };
    let token = &host.record.ignition_endpoint_token;
    let header = |key: &str, value: &str| ApiVipConnectivityAdditionalRequestHeader {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let own = embedded::ignition_endpoint_http_headers(&host.record);
    let bearer = (!token.is_empty()).then(|| header("Authorization", &format!("Bearer {}", token.expose())));
    let headers: Vec<_> =
        bearer.into_iter().chain(own.iter().map(|(key, value)| header(key, value))).collect();
    Some(ApiVipConnectivityRequest {
        url,
        verify_cidr: false,
        ca_certificate: ca,
        ignition_endpoint_token: (!token.is_empty()).then(|| token.clone()),
        request_headers: (!headers.is_empty()).then_some(headers),
    })
}

fn bracketed(name: &str) -> String {
    if name.parse::<std::net::Ipv6Addr>().is_ok() { format!("[{name}]") } else { name.to_owned() }
}

/// Bytes of a name or MAC address of an interface that others are told of. Linux has names of 15, and the longest addresses, those of
/// InfiniBand, are texts of 59; longer ones are made up, and answers to all others must not grow beyond what agents read.
const LONGEST_OF_INTERFACE: usize = 64;

/// What the others need to know to reach a host: one entry of their lists, as JSON. `None` when the host can't be
/// reached yet.
pub(super) fn peer(host: &HostFacts) -> Option<String> {
    if !takes_part(host)
        || matches!(host.record.host.status, HostStatus::Discovering | HostStatus::Disconnected)
    {
        return None;
    }
    let interfaces = host.inventory.as_ref()?.interfaces.as_ref()?;
    let nics: Vec<_> = interfaces
        .iter()
        .filter(|interface| !interface.mac_address.is_empty())
        .filter(|interface| interface.name.len().max(interface.mac_address.len()) <= LONGEST_OF_INTERFACE)
        .map(|interface| ConnectivityCheckNic {
            name: interface.name.clone(),
            mac: interface.mac_address.clone(),
            ip_addresses: Some(
                address::of_interface(interface).map(|address| address.net.addr().to_string()).collect(),
            ),
        })
        .collect();
    let peer = ConnectivityCheckHost { host_id: Some(host.record.host.id), nics: Some(nics) };
    (peer.nics.as_ref().is_some_and(|nics| !nics.is_empty())).then(|| serde_json::to_string(&peer).ok())?
}
