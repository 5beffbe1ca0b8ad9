//! Network interfaces as probes use them: what to send from, and with which addresses.

use std::net::IpAddr;

use ipnet::IpNet;

pub use crate::mac::{Mac, ParseMacError};
use crate::{Root, interface};

/// An interface that frames can leave by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// `None` where the link has no address of six bytes, such as a tunnel.
    pub mac: Option<Mac>,
    pub mtu: u32,
    /// `physical`, `bond`, `vlan`, `bridge`, … as in the inventory.
    pub kind: String,
    /// All addresses with their networks, link-local ones included.
    pub addresses: Vec<IpNet>,
}

impl Nic {
    /// All interfaces of the machine, in the kernel's order; empty where the kernel can't be asked. It blocks on a
    /// netlink socket, for milliseconds.
    pub fn list(root: &Root) -> Vec<Self> {
        let netlink = root.netlink();
        let addresses = |index| {
            let own = netlink.addresses.iter().filter(move |address| address.index == index);
            own.filter_map(|address| IpNet::new(address.ip, address.prefix).ok()).collect()
        };
        let nics = netlink.links.iter().map(|link| Self {
            name: link.name.clone(),
            index: link.index,
            mac: link.mac.as_deref().and_then(|mac| mac.parse().ok()),
            mtu: link.mtu,
            kind: interface::kind(root, link, &format!("/sys/class/net/{}", link.name)),
            addresses: addresses(link.index),
        });
        nics.collect()
    }

    /// Whether it joins the host to a network of machines, not of containers or of itself.
    pub fn is_outgoing(&self) -> bool {
        matches!(self.kind.as_str(), "physical" | "bond" | "vlan")
            && self.addresses.iter().any(|address| !is_link_local(address.addr()))
    }

    /// Its own address in the first of its networks that holds `ip`.
    pub fn on_link(&self, ip: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().find(|network| network.contains(&ip)).map(IpNet::addr)
    }
}

/// Whether an address is one that a machine gives itself.
pub fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_addresses() {
        let mac = Mac([0x52, 0x54, 0, 0xaa, 0xbb, 0xcc]);
        for text in ["52:54:00:aa:bb:cc", "52:54:00:AA:BB:CC", "52-54-00-aa-bb-cc"] {
            assert_eq!(text.parse(), Ok(mac));
        }
        assert_eq!(mac.to_string(), "52:54:00:aa:bb:cc");
        for bad in
            ["", "52:54:00:aa:bb", "52:54:00:aa:bb:cc:dd", "5:54:00:aa:bb:cc", "+2:54:00:aa:bb:cc", "x"]
        {
            assert_eq!(bad.parse::<Mac>(), Err(ParseMacError), "{bad}");
        }
    }

    #[test]
    fn only_real_networks_lead_out() {
        let nic = |kind: &str, address: &str| Nic {
            name: "n".into(),
            index: 1,
            mac: None,
            mtu: 1500,
            kind: kind.into(),
            addresses: vec![address.parse().unwrap()],
        };
        assert!(nic("physical", "10.0.0.1/24").is_outgoing() && nic("vlan", "fd00::1/64").is_outgoing());
        for (kind, address) in
            [("bridge", "10.0.0.1/24"), ("bond", "169.254.1.1/16"), ("physical", "fe80::1/64")]
        {
            assert!(!nic(kind, address).is_outgoing(), "{kind} {address}");
        }
        let nic = nic("physical", "10.0.0.1/24");
        assert_eq!(nic.on_link("10.0.0.9".parse().unwrap()), "10.0.0.1".parse().ok());
        assert_eq!(nic.on_link("10.0.1.9".parse().unwrap()), None);
    }
}
