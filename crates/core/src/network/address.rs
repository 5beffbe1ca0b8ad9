//! Addresses and networks as hosts and clusters spell them.

use std::net::IpAddr;

pub use assisted_base::ip::{canonical_network, parse_net, parse_network};
use assisted_wire::inventory::{Interface, Inventory};
use ipnet::IpNet;

use crate::model::cluster::IpStack;

/// An address of an interface, with the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress<'a> {
    /// Name of the interface.
    pub interface: &'a str,
    /// The address, and the length of its network's prefix.
    pub net: IpNet,
}

impl InterfaceAddress<'_> {
    /// The network itself, host bits cleared.
    pub fn network(&self) -> IpNet {
        self.net.trunc()
    }
}

/// Texts of all addresses of an interface, IPv4 first.
pub fn texts(interface: &Interface) -> impl Iterator<Item = &str> {
    let lists = [&interface.ipv4_addresses, &interface.ipv6_addresses];
    lists.into_iter().flatten().flatten().map(String::as_str)
}

/// All addresses of an interface that can be read, IPv4 first.
pub fn of_interface(interface: &Interface) -> impl Iterator<Item = InterfaceAddress<'_>> {
    texts(interface)
        .filter_map(|text| Some(InterfaceAddress { interface: &interface.name, net: parse_net(text)? }))
}

/// All addresses of a host that can be read, in the order of its inventory.
pub fn of_inventory(inventory: &Inventory) -> impl Iterator<Item = InterfaceAddress<'_>> {
    inventory.interfaces.iter().flatten().flat_map(of_interface)
}

/// Whether some address of the host lies in the network.
pub fn inventory_touches(inventory: &Inventory, network: &IpNet) -> bool {
    of_inventory(inventory).any(|address| network.contains(&address.net.addr()))
}

/// The address family of an address.
pub fn stack_of(address: IpAddr) -> IpStack {
    if address.is_ipv4() { IpStack::V4 } else { IpStack::V6 }
}

/// The address family of a network.
pub fn stack_of_net(net: &IpNet) -> IpStack {
    stack_of(net.addr())
}

/// Whether the address is one that only its own link knows.
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Length of an address of the network's family: 32 or 128 bits.
pub fn bits(net: &IpNet) -> u8 {
    net.max_prefix_len()
}

/// Whether two networks share an address.
pub fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Whether two networks in CIDR form share an address; what is no network shares none.
pub fn overlapping(a: &str, b: &str) -> bool {
    parse_network(a).zip(parse_network(b)).is_some_and(|(a, b)| overlap(&a, &b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sharing_an_address() {
        let net = |text: &str| parse_network(text).unwrap();
        assert!(overlap(&net("10.0.0.0/8"), &net("10.1.0.0/16")));
        assert!(overlap(&net("10.1.0.0/16"), &net("10.0.0.0/8")));
        assert!(!overlap(&net("10.1.0.0/16"), &net("10.2.0.0/16")));
        assert!(!overlap(&net("0.0.0.0/0"), &net("::/0")));
        assert!(overlapping("10.0.0.1/8", "10.1.0.0/16") && !overlapping("10.0.0.0/8", "nonsense"));
    }
}
