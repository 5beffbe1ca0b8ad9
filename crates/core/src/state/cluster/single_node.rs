//! The VIPs of a cluster of one node: they are the node's own address (state-machines §3.14).

use std::net::IpAddr;

use assisted_wire::network::{ApiVip, IngressVip, Ip};

use crate::model::cluster::{ClusterRecord, IpStack};
use crate::model::facts::HostFacts;
use crate::network::address::{self, of_inventory, stack_of};
use crate::network::family;

/// The node's address in the machine network; without one, its first address of the family that comes first. `None` when
/// it has none, or is not known yet.
pub(crate) fn address(record: &ClusterRecord, hosts: &[HostFacts]) -> Option<IpAddr> {
    let node = hosts.iter().find(|host| host.record.host.bootstrap)?;
    let addresses: Vec<IpAddr> =
        of_inventory(node.inventory.as_deref()?).map(|each| each.net.addr()).collect();
    if let Some(text) = family::machine_networks(&record.cluster).find(|text| !text.is_empty()) {
        let network = address::parse_network(text)?;
        return addresses.into_iter().find(|ip| network.contains(ip));
    }
    let preferred = record.primary_ip_stack.unwrap_or(IpStack::V4);
    let usable = || addresses.iter().copied().filter(|ip| !address::is_link_local(*ip));
    usable().find(|ip| stack_of(*ip) == preferred).or_else(|| usable().next())
}

/// Makes the node's address the cluster's VIPs.
pub(crate) fn set_vips(record: &mut ClusterRecord, hosts: &[HostFacts]) {
    let Some(address) = address(record, hosts) else { return };
    let (cluster_id, ip) = (Some(record.cluster.id), Ip(address.to_string()));
    record.cluster.api_vips = Some(vec![ApiVip { cluster_id, ip: ip.clone(), verification: None }]);
    record.cluster.ingress_vips = Some(vec![IngressVip { cluster_id, ip, verification: None }]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::testing::{facts, inventory};

    #[test]
    fn the_nodes_own_address() {
        let node = inventory()
            .address("fe80::5/64")
            .address("10.1.0.5/24")
            .address("10.0.0.5/24")
            .address("fd00::5/64");
        let mut facts = facts(1).with_inventory(&node);
        let of = |facts: &crate::model::facts::Facts| {
            address(facts.cluster.as_ref().unwrap(), &facts.hosts).map(|ip| ip.to_string())
        };
        assert_eq!(of(&facts), None, "nobody is bootstrap");
        facts.hosts[0].record.host.bootstrap = true;
        assert_eq!(of(&facts).as_deref(), Some("10.1.0.5"));
        facts.cluster.as_mut().unwrap().primary_ip_stack = Some(IpStack::V6);
        assert_eq!(of(&facts).as_deref(), Some("fd00::5"), "link-local addresses are of no use");
        let facts = facts.with_machine_networks(&["10.0.0.0/24"]);
        assert_eq!(of(&facts).as_deref(), Some("10.0.0.5"));
        let mut facts = facts.with_machine_networks(&["10.9.0.0/24"]);
        assert_eq!(of(&facts), None);
        facts.hosts[0].inventory = None;
        assert_eq!(of(&facts), None);
    }

    #[test]
    fn both_vips() {
        let mut facts = facts(1).with_inventory(&inventory().address("10.0.0.5/24"));
        facts.hosts[0].record.host.bootstrap = true;
        let record = facts.cluster.as_mut().unwrap();
        set_vips(record, &facts.hosts);
        let cluster = &record.cluster;
        assert_eq!(cluster.api_vips.as_ref().unwrap()[0].ip.0, "10.0.0.5");
        assert_eq!(cluster.ingress_vips.as_ref().unwrap()[0].ip.0, "10.0.0.5");
    }
}
