//! Which machine networks a cluster has: inferred from its VIPs, or from what its hosts are in (validations §5.1, §5.2).

use std::net::IpAddr;

use assisted_wire::cluster::{Cluster, ClusterStatus};
use assisted_wire::inventory::Inventory;
use assisted_wire::network::{MachineNetwork, Subnet};
use ipnet::IpNet;

use super::address::{canonical_network, of_inventory, stack_of_net};
use super::host_networks::distinct_networks;
use super::{family, route};
use crate::model::cluster::IpStack;
use crate::model::facts::Facts;
use crate::model::topology;

/// Why no machine network could be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineNetworkError {
    /// The VIP is not an address.
    #[error("Could not parse VIP ip {0}")]
    BadVip(String),
    /// No host has an address in a network with the VIP.
    #[error("No suitable matching CIDR found for VIP {0}")]
    NoMatch(String),
}

/// The network of the first host address whose network holds the VIP; `None` when there is none.
pub fn network_of_vip<'a>(
    vip: &str,
    inventories: impl Iterator<Item = &'a Inventory>,
) -> Result<Option<IpNet>, MachineNetworkError> {
    let address: IpAddr = vip.parse().map_err(|_| MachineNetworkError::BadVip(vip.to_owned()))?;
    let mut networks = inventories.flat_map(of_inventory).map(|address| address.network());
    Ok(networks.find(|network| network.contains(&address)))
}

/// As [`network_of_vip`], but a network must be found.
pub fn required_network_of_vip<'a>(
    vip: &str,
    inventories: impl Iterator<Item = &'a Inventory>,
) -> Result<IpNet, MachineNetworkError> {
    network_of_vip(vip, inventories)?.ok_or_else(|| MachineNetworkError::NoMatch(vip.to_owned()))
}

/// The i-th API VIP of a cluster, else its i-th ingress VIP.
pub fn vip_of_pair(cluster: &Cluster, index: usize) -> Option<&str> {
    let api = cluster.api_vips.iter().flatten().nth(index).map(|vip| vip.ip.0.as_str());
    let ingress = || cluster.ingress_vips.iter().flatten().nth(index).map(|vip| vip.ip.0.as_str());
    api.filter(|ip| !ip.is_empty()).or_else(ingress).filter(|ip| !ip.is_empty())
}

/// The machine networks that the cluster's hosts and VIPs call for; `None`: leave them as they are.
///
/// Only for clusters that still wait for input; the caller stores the networks, and `machine_network_cidr_updated_at`,
/// when the answer is given.
pub fn automatic(facts: &Facts) -> Option<Vec<MachineNetwork>> {
    let cluster = &facts.cluster.as_ref()?.cluster;
    if !matches!(cluster.status, ClusterStatus::PendingForInput | ClusterStatus::Insufficient) {
        return None;
    }
    let current: Vec<String> = family::machine_networks(cluster).map(canonical_network).collect();
    let wanted = if topology::is_vip_dhcp(cluster) {
        the_only_network(facts)
    } else if topology::is_single_node(cluster) {
        if current.is_empty() { for_single_node(facts, cluster) } else { None }
    } else if topology::is_user_managed_networking(cluster) {
        None
    } else {
        from_vips(facts, cluster, &current)
    }?;
    let wanted: Vec<String> = wanted.iter().take(2).map(ToString::to_string).collect();
    let same = |index: usize| current.get(index) == wanted.get(index);
    if same(0) && same(1) {
        return None;
    }
    let network = |cidr| MachineNetwork { cluster_id: Some(cluster.id), cidr: Subnet(cidr) };
    Some(wanted.into_iter().map(network).collect())
}

fn inventories(facts: &Facts) -> impl Iterator<Item = &Inventory> {
    facts.hosts.iter().filter_map(|host| host.inventory.as_deref())
}

fn the_only_network(facts: &Facts) -> Option<Vec<IpNet>> {
    let networks = distinct_networks(inventories(facts));
    (networks.len() == 1).then(|| networks.into_iter().collect())
}

fn for_single_node(facts: &Facts, cluster: &Cluster) -> Option<Vec<IpNet>> {
    let mut families = family::distinct(family::cluster_networks(cluster));
    let mut of_services = family::distinct(family::service_networks(cluster));
    let in_order = families.clone();
    families.sort_unstable();
    of_services.sort_unstable();
    if families.is_empty() || families != of_services {
        return None;
    }
    in_order.into_iter().map(|stack| node_network(facts, stack)).collect()
}

/// The one network of a family that the hosts are in; of several, that of the best default route's gateway.
fn node_network(facts: &Facts, stack: IpStack) -> Option<IpNet> {
    let networks = distinct_networks(inventories(facts));
    let mut networks = networks.into_iter().filter(|net| stack_of_net(net) == stack);
    let first = networks.next()?;
    let rest: Vec<IpNet> = networks.collect();
    if rest.is_empty() {
        return Some(first);
    }
    let routes = inventories(facts).filter_map(|inventory| route::best_default_route(inventory, stack));
    let gateway = routes.min_by_key(|route| route.metric)?.gateway;
    std::iter::once(first).chain(rest).find(|net| net.contains(&gateway))
}

fn from_vips(facts: &Facts, cluster: &Cluster, current: &[String]) -> Option<Vec<IpNet>> {
    if topology::is_user_load_balanced(cluster) {
        return None;
    }
    let network = |index| match vip_of_pair(cluster, index) {
        Some(vip) => network_of_vip(vip, inventories(facts)),
        None => Ok(None),
    };
    let (first, second) = (network(0).ok()?, network(1).ok()?);
    if first.is_none() && family::is_dual_stack(cluster) {
        return None;
    }
    let keeps =
        |found: Option<IpNet>, index: usize| found.map(|net| net.to_string()).as_ref() == current.get(index);
    if keeps(first, 0) && (second.is_none() || keeps(second, 1)) {
        return None;
    }
    Some(first.into_iter().chain(second).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing::{facts, inventory};

    fn cidrs(facts: &Facts) -> Option<Vec<String>> {
        Some(automatic(facts)?.into_iter().map(|network| network.cidr.0).collect())
    }

    fn some(networks: &[&str]) -> Option<Vec<String>> {
        Some(networks.iter().map(|network| (*network).to_owned()).collect())
    }

    #[test]
    fn from_vips() {
        let seen = || facts(2).with_inventory(&inventory().address("10.0.0.5/24").address("fd00::5/64"));
        assert_eq!(cidrs(&seen()), None);
        assert_eq!(cidrs(&seen().with_vips(&["10.0.0.9"], &[])), some(&["10.0.0.0/24"]));
        assert_eq!(cidrs(&seen().with_vips(&[], &["10.0.0.9"])), some(&["10.0.0.0/24"]));
        let dual = seen().with_vips(&["10.0.0.9", "fd00::9"], &[]);
        assert_eq!(cidrs(&dual), some(&["10.0.0.0/24", "fd00::/64"]));
        assert_eq!(cidrs(&dual.with_machine_networks(&["10.0.0.0/24", "fd00::/64"])), None);
        // What no VIP calls for any more goes.
        assert_eq!(cidrs(&seen().with_machine_networks(&["10.0.0.0/24"])), some(&[]));
        assert_eq!(
            cidrs(&seen().with_vips(&["10.9.0.9"], &[]).with_machine_networks(&["10.0.0.0/24"])),
            some(&[])
        );
        // Not of a dual-stack cluster, whose user gave them.
        assert_eq!(cidrs(&seen().with_machine_networks(&["10.0.0.0/24", "fd00::/64"])), None);
        let ready = seen()
            .with_vips(&["10.0.0.9"], &[])
            .with_cluster(|cluster| cluster.status = ClusterStatus::Ready);
        assert_eq!(cidrs(&ready), None);
        assert_eq!(cidrs(&seen().with_vips(&["nonsense"], &[])), None);
    }

    #[test]
    fn from_hosts() {
        let one = || facts(2).with_inventory(&inventory().address("10.0.0.5/24"));
        let dhcp = |facts: Facts| facts.with_cluster(|cluster| cluster.vip_dhcp_allocation = Some(true));
        assert_eq!(cidrs(&dhcp(one())), some(&["10.0.0.0/24"]));
        assert_eq!(cidrs(&dhcp(one().with_machine_networks(&["10.9.0.0/24"]))), some(&["10.0.0.0/24"]));
        let two = || facts(2).with_inventory(&inventory().address("10.1.0.5/24").address("10.0.0.5/24"));
        assert_eq!(cidrs(&dhcp(two())), None);

        let single = |facts: Facts| {
            facts.with_cluster(|cluster| {
                cluster.control_plane_count = 1;
                cluster.user_managed_networking = Some(true);
            })
        };
        assert_eq!(cidrs(&single(one())), some(&["10.0.0.0/24"]));
        // Of several, the one of the default route's gateway, 10.0.0.254.
        assert_eq!(cidrs(&single(two())), some(&["10.0.0.0/24"]));
        assert_eq!(cidrs(&single(one().with_machine_networks(&["10.9.0.0/24"]))), None);
        let dual = |facts: Facts| {
            single(facts)
                .with_networks(&["172.30.0.0/16", "fd02::/112"], &[("10.128.0.0/14", 23), ("fd01::/48", 64)])
        };
        assert_eq!(cidrs(&dual(one())), None);
        let both = facts(1).with_inventory(&inventory().address("10.0.0.5/24").address("fd00::5/64"));
        assert_eq!(cidrs(&dual(both)), some(&["10.0.0.0/24", "fd00::/64"]));
        let user = one().with_cluster(|cluster| cluster.user_managed_networking = Some(true));
        assert_eq!(cidrs(&user), None);
    }
}
