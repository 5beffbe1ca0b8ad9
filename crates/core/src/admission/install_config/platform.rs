//! What an install config says about the platform (install-generation §2.4).

use std::collections::BTreeSet;

use assisted_base::version::{at_least, below};
use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::NetworkType;
use assisted_wire::host::HostRole;
use assisted_wire::platform::PlatformType;
use ipnet::IpNet;

use super::document::{
    Baremetal, BaremetalHost, BootstrapInPlace, Document, Endpoint, External, FailureDomain, LoadBalancer,
    MachineNetwork, NoPlatform, Nutanix, PrismCentral, PrismElement, Topology, Vcenter, Vsphere,
};
use super::{InstallConfigError, infra_envs};
use crate::model::cluster::IpStack;
use crate::model::disk;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology::{is_single_node, is_user_load_balanced, is_user_managed_networking};
use crate::network::{address, family, node_ip};

pub(super) fn add(
    document: &mut Document,
    facts: &Facts,
    cluster: &Cluster,
) -> Result<(), InstallConfigError> {
    let kind = cluster.platform.as_ref().map_or(PlatformType::Baremetal, |platform| platform.r#type);
    let by_user = is_user_managed_networking(cluster);
    match kind {
        PlatformType::Baremetal => document.platform.baremetal = Some(baremetal(facts, cluster)?),
        PlatformType::None => document.platform.none = Some(NoPlatform {}),
        PlatformType::External => document.platform.external = Some(external(cluster)),
        PlatformType::Vsphere => document.platform.vsphere = Some(vsphere(cluster)?),
        PlatformType::Nutanix => document.platform.nutanix = Some(nutanix(cluster)?),
    }
    let never_managed = matches!(kind, PlatformType::None | PlatformType::External);
    if never_managed || (by_user && kind != PlatformType::Baremetal) {
        unmanaged(document, facts, cluster);
    }
    if never_managed && is_single_node(cluster) {
        let disk = bootstrap(facts).map_or("", |host| disk::chosen(&host.record.host));
        document.bootstrap_in_place = Some(BootstrapInPlace { installation_disk: disk.to_owned() });
    }
    Ok(())
}

fn bootstrap(facts: &Facts) -> Option<&HostFacts> {
    facts.hosts.iter().find(|host| host.record.host.bootstrap)
}

/// Networking that the user provides: the machine networks are where the bootstrap host is, unless they are given; and where
/// nodes choose their addresses, the network of the chosen one.
fn unmanaged(document: &mut Document, facts: &Facts, cluster: &Cluster) {
    let networking = &mut document.networking;
    if networking.network_type.is_empty()
        && is_single_node(cluster)
        && cluster.network_type != Some(NetworkType::None)
    {
        NetworkType::OVNKubernetes.as_str().clone_into(&mut networking.network_type);
    }
    if networking.machine_network.is_empty() {
        networking.machine_network = networks_of_bootstrap(facts);
    }
    if node_ip::is_chosen(cluster) {
        use_node_network(&mut networking.machine_network, facts);
    }
}

/// The networks that the bootstrap host is in: one of each family.
fn networks_of_bootstrap(facts: &Facts) -> Vec<MachineNetwork> {
    let inventory = bootstrap(facts).and_then(|host| host.inventory.as_deref());
    let networks: Vec<IpNet> = inventory
        .into_iter()
        .flat_map(address::of_inventory)
        .filter(|found| !address::is_link_local(found.net.addr()))
        .map(|found| found.network())
        .collect();
    let first_of = |stack| networks.iter().find(|net| address::stack_of_net(net) == stack);
    let mut families = [IpStack::V4, IpStack::V6];
    if facts.cluster.as_ref().and_then(|record| record.primary_ip_stack) == Some(IpStack::V6) {
        families.reverse();
    }
    let chosen = families.into_iter().filter_map(first_of);
    chosen.map(|net| MachineNetwork { cidr: net.to_string() }).collect()
}

/// Puts the network of the bootstrap node's address in the place of the first one of its family. Where no addresses can be
/// chosen, the networks stay as they are.
fn use_node_network(networks: &mut [MachineNetwork], facts: &Facts) {
    let Ok(chosen) = node_ip::allocate(facts) else { return };
    let Some(net) = bootstrap(facts).and_then(|host| chosen.get(&host.record.host.id)) else { return };
    let family = |network: &&mut MachineNetwork| {
        address::parse_net(&network.cidr)
            .is_some_and(|known| address::stack_of_net(&known) == address::stack_of_net(net))
    };
    if let Some(network) = networks.iter_mut().find(family) {
        network.cidr = net.trunc().to_string();
    }
}

/// The virtual IPs in the form of the version: lists, or the first of each.
struct Vips {
    api: Vec<String>,
    ingress: Vec<String>,
    first_api: String,
    first_ingress: String,
}

fn vips(cluster: &Cluster) -> Vips {
    let mut api: Vec<String> = cluster.api_vips.iter().flatten().map(|vip| vip.ip.0.clone()).collect();
    let mut ingress: Vec<String> =
        cluster.ingress_vips.iter().flatten().map(|vip| vip.ip.0.clone()).collect();
    let first = |list: &[String]| list.first().cloned().unwrap_or_default();
    if at_least(&cluster.openshift_version, 4, 12) {
        return Vips { api, ingress, first_api: String::new(), first_ingress: String::new() };
    }
    let (first_api, first_ingress) = (first(&api), first(&ingress));
    api.truncate(1);
    ingress.truncate(1);
    Vips { api, ingress, first_api, first_ingress }
}

/// The same for platforms that must have them unless the user provides the networking.
fn required_vips(cluster: &Cluster) -> Result<Vips, InstallConfigError> {
    let found = vips(cluster);
    if is_user_managed_networking(cluster) {
        return Ok(Vips {
            api: Vec::new(),
            ingress: Vec::new(),
            first_api: String::new(),
            first_ingress: String::new(),
        });
    }
    if found.api.is_empty() {
        return Err(InstallConfigError::NoApiVip);
    }
    if found.ingress.is_empty() {
        return Err(InstallConfigError::NoIngressVip);
    }
    Ok(found)
}

fn load_balancer(cluster: &Cluster) -> Option<LoadBalancer> {
    is_user_load_balanced(cluster).then(|| LoadBalancer { r#type: "UserManaged".to_owned() })
}

fn baremetal(facts: &Facts, cluster: &Cluster) -> Result<Baremetal, InstallConfigError> {
    let Vips { api, ingress, first_api, first_ingress } = vips(cluster);
    let mut hosts: Vec<&HostFacts> = facts.hosts.iter().collect();
    hosts.sort_by_key(|host| (order(host.record.host.role), host.name()));
    let networks: Vec<IpNet> = family::machine_networks(cluster).filter_map(address::parse_network).collect();
    let managed = at_least(&cluster.openshift_version, 4, 7);
    Ok(Baremetal {
        provisioning_network: if managed { "Disabled" } else { "Unmanaged" }.to_owned(),
        api_vips: api,
        ingress_vips: ingress,
        api_vip: first_api,
        ingress_vip: first_ingress,
        hosts: hosts.into_iter().map(|host| baremetal_host(host, &networks)).collect::<Result<_, _>>()?,
        additional_ntp_servers: ntp_servers(facts, cluster),
        load_balancer: load_balancer(cluster),
        ..Baremetal::default()
    })
}

/// Masters, arbiters, workers, then those that are not yet anything.
fn order(role: Option<HostRole>) -> u8 {
    match role {
        Some(HostRole::Master) => 0,
        Some(HostRole::Arbiter) => 1,
        Some(HostRole::Worker) => 2,
        _ => 3,
    }
}

fn baremetal_host(host: &HostFacts, networks: &[IpNet]) -> Result<BaremetalHost, InstallConfigError> {
    let inventory = host.inventory.as_deref();
    let interfaces = || inventory.into_iter().flat_map(|inventory| inventory.interfaces.iter().flatten());
    let inside = |net: &IpNet| networks.iter().any(|network| address::overlap(network, net));
    let boot = interfaces()
        .find(|interface| address::of_interface(interface).any(|found| inside(&found.network())))
        .ok_or(InstallConfigError::NoInterface)?;
    let mode = inventory.and_then(|inventory| inventory.boot.as_ref());
    let mode = mode.map_or("", |boot| boot.current_boot_mode.as_str());
    Ok(BaremetalHost {
        name: host.name(),
        role: host.record.host.role.unwrap_or(HostRole::AutoAssign).to_string(),
        boot_mac_address: boot.mac_address.clone(),
        boot_mode: if mode.is_empty() || mode == "uefi" { "UEFI" } else { "legacy" }.to_owned(),
        ..BaremetalHost::default()
    })
}

/// The cluster's time sources, or else those of its infra-envs.
fn ntp_servers(facts: &Facts, cluster: &Cluster) -> Vec<String> {
    let split = |text: &str| {
        text.split(',')
            .map(str::trim)
            .filter(|source| !source.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let own = split(&cluster.additional_ntp_source);
    if !own.is_empty() {
        return own;
    }
    let records = facts.cluster.iter().flat_map(|record| infra_envs(facts, record));
    let mut seen = BTreeSet::new();
    let sources = records.flat_map(|record| split(&record.infra_env.additional_ntp_sources));
    sources.filter(|source| seen.insert(source.clone())).collect()
}

fn external(cluster: &Cluster) -> External {
    let external = cluster.platform.as_ref().and_then(|platform| platform.external.as_ref());
    let manager = external.and_then(|external| external.cloud_controller_manager);
    External {
        platform_name: external.and_then(|external| external.platform_name.clone()).unwrap_or_default(),
        cloud_controller_manager: manager.map_or_else(String::new, |manager| manager.to_string()),
    }
}

/// What is not known before the cluster is there: its user replaces it on day 2.
fn placeholder(what: &str) -> String {
    format!("{what}placeholder")
}

fn vsphere(cluster: &Cluster) -> Result<Vsphere, InstallConfigError> {
    let Vips { api, ingress, first_api, first_ingress } = required_vips(cluster)?;
    let (server, datacenter) = (placeholder("vcenter"), placeholder("datacenter"));
    let (datastore, network, compute) =
        (placeholder("defaultdatastore"), placeholder("network"), placeholder("cluster"));
    let (user, password) = (placeholder("username"), placeholder("password"));
    let base = Vsphere {
        api_vips: api,
        ingress_vips: ingress,
        api_vip: first_api,
        ingress_vip: first_ingress,
        load_balancer: load_balancer(cluster),
        ..Vsphere::default()
    };
    if below(&cluster.openshift_version, 4, 13) {
        return Ok(Vsphere {
            v_center: server,
            username: user,
            password,
            datacenter,
            default_datastore: datastore,
            network,
            cluster: compute,
            ..base
        });
    }
    let topology = Topology {
        compute_cluster: format!("/{datacenter}/host/{compute}"),
        datastore: format!("/{datacenter}/datastore/{datastore}"),
        folder: format!("/{datacenter}/vm/{}", placeholder("folder")),
        networks: vec![network],
        datacenter: datacenter.clone(),
    };
    let domain = FailureDomain {
        name: "assisted-generated-failure-domain".to_owned(),
        region: "assisted-generated-region".to_owned(),
        zone: "assisted-generated-zone".to_owned(),
        server: server.clone(),
        topology,
    };
    let vcenter = Vcenter { server, user, password, datacenters: vec![datacenter] };
    Ok(Vsphere { vcenters: vec![vcenter], failure_domains: vec![domain], ..base })
}

fn nutanix(cluster: &Cluster) -> Result<Nutanix, InstallConfigError> {
    let Vips { api, ingress, first_api, first_ingress } = required_vips(cluster)?;
    let endpoint = |what: &str| Endpoint { address: format!("prism.{what}.placeholder.address"), port: 9440 };
    Ok(Nutanix {
        prism_central: PrismCentral {
            endpoint: endpoint("central"),
            username: "username_placeholder".to_owned(),
            password: "password_placeholder".to_owned(),
        },
        prism_elements: vec![PrismElement {
            endpoint: endpoint("element"),
            uuid: "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".to_owned(),
            name: "prism_endpoint_name_placeholder".to_owned(),
        }],
        subnet_uuids: vec!["yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy".to_owned()],
        api_vips: api,
        ingress_vips: ingress,
        api_vip: first_api,
        ingress_vip: first_ingress,
    })
}
