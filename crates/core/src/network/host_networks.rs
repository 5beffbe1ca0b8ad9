//! The networks that a cluster's hosts are in (`host_networks` of a cluster).

use std::collections::{BTreeMap, BTreeSet};

use assisted_wire::id::HostId;
use assisted_wire::inventory::Inventory;
use assisted_wire::network::HostNetwork;
use ipnet::IpNet;

use super::address::of_inventory;

/// Every network of the hosts with the hosts in it, both sorted.
pub fn host_networks<'a>(hosts: impl Iterator<Item = (HostId, &'a Inventory)>) -> Vec<HostNetwork> {
    let mut networks: BTreeMap<IpNet, BTreeSet<HostId>> = BTreeMap::new();
    for (id, inventory) in hosts {
        for address in of_inventory(inventory) {
            networks.entry(address.network()).or_default().insert(id);
        }
    }
    let host_ids = |ids: BTreeSet<HostId>| Some(ids.into_iter().map(|id| id.0).collect());
    networks
        .into_iter()
        .map(|(net, ids)| HostNetwork { cidr: net.to_string(), host_ids: host_ids(ids) })
        .collect()
}

/// Every distinct network of the hosts, sorted.
pub fn distinct_networks<'a>(inventories: impl Iterator<Item = &'a Inventory>) -> BTreeSet<IpNet> {
    inventories.flat_map(of_inventory).map(|address| address.network()).collect()
}
