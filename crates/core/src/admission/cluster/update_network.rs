//! What an update does to the networks and VIPs of a cluster (service-api §4.4.1).

use assisted_wire::cluster::Cluster;
use assisted_wire::cluster_params::{ClusterUpdateParams, CpuArchitecture};
use assisted_wire::network::{LoadBalancerType, MachineNetwork, Subnet};
use assisted_wire::support_level::FeatureSupportLevelId;

use super::refuse;
use crate::admission::network::cidr::{self, MinHostBits};
use crate::admission::network::lists::{self, Lists};
use crate::admission::network::vips::{self, Hosts, VipConfiguration};
use crate::admission::network::{dual_stack, family};
use crate::catalogue::feature::levels::is_available;
use crate::catalogue::feature::rule::Target;
use crate::catalogue::release::architecture::normal;
use crate::model::cluster::IpStack;
use crate::model::facts::Facts;
use crate::model::refusal::Refusal;
use crate::network::address::canonical_network;
use crate::network::free_addresses::FreeAddresses;
use crate::network::machine::required_network_of_vip;

/// Whether the load balancer is the user's, after the update.
fn is_user_balanced(cluster: &Cluster, params: &ClusterUpdateParams) -> bool {
    let kind = |balancer: &assisted_wire::network::LoadBalancer| balancer.r#type;
    let given = params.load_balancer.as_ref().and_then(kind);
    given.or_else(|| cluster.load_balancer.as_ref().and_then(kind)) == Some(LoadBalancerType::UserManaged)
}

/// Checks networks and VIPs as they would be.
pub(super) fn check_vips(
    cluster: &Cluster,
    facts: &Facts,
    params: &ClusterUpdateParams,
) -> Result<(), Refusal> {
    let given = Lists::from(params);
    let relevant = given.named().iter().any(|(_, present, _)| *present)
        || params.vip_dhcp_allocation.is_some()
        || params.user_managed_networking.is_some()
        || params.load_balancer.is_some();
    if !relevant {
        return Ok(());
    }
    let mut merged = given.or(cluster.into());
    let dhcp = params.vip_dhcp_allocation.or(cluster.vip_dhcp_allocation) == Some(true);
    if dhcp != (cluster.vip_dhcp_allocation == Some(true)) {
        // What was stored in the other mode goes away with it.
        merged.api_vips = given.api_vips;
        merged.ingress_vips = given.ingress_vips;
        merged.machine_networks = given.machine_networks;
    }
    let user_managed = params.user_managed_networking.or(cluster.user_managed_networking) == Some(true);
    let switching_on = user_managed && cluster.user_managed_networking != Some(true);
    if user_managed && !switching_on {
        // Stored VIPs go away with any update (service-api §20, 9): only those of the request contradict.
        merged.api_vips = given.api_vips;
        merged.ingress_vips = given.ingress_vips;
    }
    let free = FreeAddresses::of_hosts(&facts.hosts);
    vips::check(&VipConfiguration {
        lists: merged,
        version: &cluster.openshift_version,
        architecture: cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664),
        user_managed_networking: user_managed,
        vip_dhcp_allocation: dhcp,
        user_managed_load_balancer: is_user_balanced(cluster, params),
        ipv6_support: facts.policy.clusters.ipv6_support,
        switching_user_managed_networking_on: switching_on,
        hosts: Some(Hosts { count: facts.hosts.len(), free: &free }),
    })
}

/// Applies the networks and VIPs of a request; returns whether the clock of the machine networks starts anew: they, or the
/// way in which VIPs come about, changed.
///
/// `cluster` already has the platform, the networking mode and the load balancer of the request.
pub(super) fn apply(
    cluster: &mut Cluster,
    stored: &Cluster,
    facts: &Facts,
    params: &ClusterUpdateParams,
) -> Result<bool, Refusal> {
    check_sizes(cluster, facts, params)?;
    let user_managed = cluster.user_managed_networking == Some(true);
    let switched = user_managed != (stored.user_managed_networking == Some(true));
    if switched {
        cluster.machine_networks = Some(Vec::new());
        check_architecture(cluster, user_managed)?;
    }
    if let Some(given) = &params.cluster_networks {
        cluster.cluster_networks = Some(lists::cluster_rows(cluster.id, given));
    }
    if let Some(given) = &params.service_networks {
        cluster.service_networks = Some(lists::service_rows(cluster.id, given));
    }
    if user_managed {
        cluster.vip_dhcp_allocation = Some(false);
        clear_vips(cluster);
        set_machine_networks(cluster, params);
    } else {
        let dhcp = params.vip_dhcp_allocation.unwrap_or(cluster.vip_dhcp_allocation == Some(true));
        if dhcp != (cluster.vip_dhcp_allocation == Some(true)) {
            cluster.vip_dhcp_allocation = Some(dhcp);
            clear_vips(cluster);
            cluster.machine_networks = Some(Vec::new());
        }
        if dhcp { with_dhcp(cluster, params)? } else { without_dhcp(cluster, facts, params)? }
    }
    if Lists::from(params).named()[0].1
        || params.cluster_networks.is_some()
        || params.service_networks.is_some()
    {
        cidr::check_overlap((&*cluster).into(), user_managed).map_err(refuse)?;
    }
    let texts = |cluster: &Cluster| -> Vec<String> {
        Lists::from(cluster).machine().into_iter().take(2).map(canonical_network).collect()
    };
    let by_dhcp = |cluster: &Cluster| cluster.vip_dhcp_allocation == Some(true);
    Ok(texts(cluster) != texts(stored) || by_dhcp(cluster) != by_dhcp(stored))
}

fn clear_vips(cluster: &mut Cluster) {
    cluster.api_vips = Some(Vec::new());
    cluster.ingress_vips = Some(Vec::new());
}

fn set_machine_networks(cluster: &mut Cluster, params: &ClusterUpdateParams) {
    if let Some(given) = &params.machine_networks {
        cluster.machine_networks = Some(lists::machine_rows(cluster.id, given));
    }
}

fn set_vips(cluster: &mut Cluster, params: &ClusterUpdateParams) {
    if let Some(given) = &params.api_vips {
        let known = cluster.api_vips.take().unwrap_or_default();
        cluster.api_vips = Some(lists::api_rows(cluster.id, given, &known));
    }
    if let Some(given) = &params.ingress_vips {
        let known = cluster.ingress_vips.take().unwrap_or_default();
        cluster.ingress_vips = Some(lists::ingress_rows(cluster.id, given, &known));
    }
}

fn check_architecture(cluster: &Cluster, user_managed: bool) -> Result<(), Refusal> {
    let architecture = normal(cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664));
    let target = Target::new(&cluster.openshift_version, architecture);
    let by_cluster = FeatureSupportLevelId::ClusterManagedNetworking;
    if !user_managed && architecture != CpuArchitecture::X8664 && !is_available(by_cluster, &target) {
        return Err(refuse(
            "disabling User Managed Networking is not allowed for clusters with non-x86_64 CPU architecture",
        ));
    }
    Ok(())
}

fn with_dhcp(cluster: &mut Cluster, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    let Some(given) = &params.machine_networks else {
        set_vips(cluster, params);
        return Ok(());
    };
    let Some(first) = given.first() else {
        // There is nothing to ask an address in (service-api §20, 11).
        return Err(refuse("Machine networks cannot be empty when cluster is in vip-dhcp-allocation mode"));
    };
    if family(&first.cidr.0) == Some(IpStack::V6) {
        return Err(refuse(format!("VIP DHCP allocation is unsupported with IPv6 network {}", first.cidr.0)));
    }
    let before = Lists::from(&*cluster).machine().first().map(|text| canonical_network(text));
    set_vips(cluster, params);
    if before != Some(canonical_network(&first.cidr.0)) {
        clear_vips(cluster);
    }
    set_machine_networks(cluster, params);
    Ok(())
}

fn without_dhcp(cluster: &mut Cluster, facts: &Facts, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    let merged = Lists::from(params).or((&*cluster).into());
    if is_user_balanced(cluster, params) || dual_stack::in_lists(merged) {
        set_vips(cluster, params);
        set_machine_networks(cluster, params);
        return Ok(());
    }
    if params.machine_networks.as_ref().is_some_and(|given| !given.is_empty()) {
        return Err(refuse(
            "Setting the Machine Network CIDR is forbidden when the cluster is neither in VIP DHCP allocation mode nor \
             using a user-managed load balancer",
        ));
    }
    set_machine_networks(cluster, params);
    if params.api_vips.is_none() && params.ingress_vips.is_none() {
        return Ok(());
    }
    set_vips(cluster, params);
    let lists = Lists::from(&*cluster);
    let vip = lists.api().first().copied().or_else(|| lists.ingress().first().copied()).map(str::to_owned);
    let Some(vip) = vip else {
        cluster.machine_networks = Some(Vec::new());
        return Ok(());
    };
    let inventories = facts.hosts.iter().filter_map(|host| host.inventory.as_deref());
    let network = required_network_of_vip(&vip, inventories)
        .map_err(|error| refuse(format!("Calculate machine network CIDR: {error}")))?;
    let row = MachineNetwork { cluster_id: Some(cluster.id), cidr: Subnet(network.to_string()) };
    cluster.machine_networks = Some(vec![row]);
    check_calculated(cluster, facts)
}

/// Checks the VIPs again, now that their network is known.
fn check_calculated(cluster: &Cluster, facts: &Facts) -> Result<(), Refusal> {
    let free = FreeAddresses::of_hosts(&facts.hosts);
    vips::check(&VipConfiguration {
        lists: cluster.into(),
        version: &cluster.openshift_version,
        architecture: cluster.cpu_architecture.unwrap_or(CpuArchitecture::X8664),
        user_managed_networking: false,
        vip_dhcp_allocation: false,
        user_managed_load_balancer: false,
        ipv6_support: facts.policy.clusters.ipv6_support,
        switching_user_managed_networking_on: false,
        hosts: Some(Hosts { count: facts.hosts.len(), free: &free }),
    })
}

/// Checks the sizes of networks that differ from those stored.
fn check_sizes(cluster: &Cluster, facts: &Facts, params: &ClusterUpdateParams) -> Result<(), Refusal> {
    let (given, stored) = (Lists::from(params), Lists::from(cluster));
    if given.cluster() != stored.cluster() || given.cluster_networks != stored.cluster_networks {
        for network in given.cluster_networks.unwrap_or_default() {
            let text = &network.cidr.0;
            cidr::check_size(text, MinHostBits::ClusterOrService)
                .map_err(|problem| refuse(format!("Cluster network CIDR {text}: {problem}")))?;
            cidr::check_host_prefix(network, facts.hosts.len()).map_err(refuse)?;
        }
    }
    if given.service() != stored.service() {
        for text in given.service() {
            cidr::check_size(text, MinHostBits::ClusterOrService)
                .map_err(|problem| refuse(format!("Service network CIDR {text}: {problem}")))?;
        }
    }
    if given.machine() != stored.machine() {
        let room = if is_user_balanced(cluster, params) {
            MinHostBits::MachineOfUserManagedLoadBalancer
        } else if cluster.control_plane_count == 1 {
            MinHostBits::MachineOfSingleNode
        } else {
            MinHostBits::Machine
        };
        for text in given.machine() {
            cidr::check_size(text, room)
                .map_err(|problem| refuse(format!("Machine network CIDR '{text}': {problem}")))?;
        }
    }
    Ok(())
}
