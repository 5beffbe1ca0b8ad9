//! Address families of a cluster's networks.

use assisted_wire::cluster::Cluster;

use super::address::{parse_net, stack_of_net};
use crate::model::cluster::IpStack;

/// Texts of the cluster's machine networks.
pub fn machine_networks(cluster: &Cluster) -> impl Iterator<Item = &str> {
    cluster.machine_networks.iter().flatten().map(|network| network.cidr.0.as_str())
}

/// Texts of the cluster's service networks.
pub fn service_networks(cluster: &Cluster) -> impl Iterator<Item = &str> {
    cluster.service_networks.iter().flatten().map(|network| network.cidr.0.as_str())
}

/// Texts of the cluster's cluster networks.
pub fn cluster_networks(cluster: &Cluster) -> impl Iterator<Item = &str> {
    cluster.cluster_networks.iter().flatten().map(|network| network.cidr.0.as_str())
}

/// Families of networks, in their order; `None` when one of them is not a network.
pub fn families<'a>(networks: impl Iterator<Item = &'a str>) -> Option<Vec<IpStack>> {
    networks.map(|text| parse_net(text).as_ref().map(stack_of_net)).collect()
}

/// The distinct families of networks, in the order of their first appearance; what is not a network is passed over.
pub fn distinct<'a>(networks: impl Iterator<Item = &'a str>) -> Vec<IpStack> {
    let mut found = Vec::with_capacity(2);
    for stack in networks.filter_map(parse_net).map(|net| stack_of_net(&net)) {
        if !found.contains(&stack) {
            found.push(stack);
        }
    }
    found
}

/// Families of all the cluster's networks.
pub fn of_cluster(cluster: &Cluster) -> Vec<IpStack> {
    distinct(machine_networks(cluster).chain(service_networks(cluster)).chain(cluster_networks(cluster)))
}

/// Whether the cluster's networks contain both families.
pub fn is_dual_stack(cluster: &Cluster) -> bool {
    of_cluster(cluster).len() > 1
}

/// Whether any of the cluster's networks or VIPs is IPv6.
pub fn has_ipv6(cluster: &Cluster) -> bool {
    let vips = cluster.api_vips.iter().flatten().map(|vip| &vip.ip);
    let mut vips = vips.chain(cluster.ingress_vips.iter().flatten().map(|vip| &vip.ip));
    of_cluster(cluster).contains(&IpStack::V6) || vips.any(|ip| ip.0.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order() {
        let texts = ["10.0.0.0/8", "fd00::/64", "10.1.0.0/16"];
        assert_eq!(distinct(texts.into_iter()), [IpStack::V4, IpStack::V6]);
        assert_eq!(families(texts.into_iter()), Some(vec![IpStack::V4, IpStack::V6, IpStack::V4]));
        assert_eq!(families(["10.0.0.0/8", "x"].into_iter()), None);
    }
}
