//! Decoding of rtnetlink messages, down to the few attributes that the inventory uses.
//!
//! Attributes that aren't used aren't looked at: a kernel that is newer or older than this program may shape them
//! as it likes without making an interface disappear.

use std::net::IpAddr;

use netlink_packet_core::{NlasIterator, parse_ip, parse_string, parse_u32};

use super::{Address, Link, NextHop, Route};

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BOND_SLAVE_PERM_HWADDR: u16 = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;

const LINK_HEADER: usize = 16;
const ADDRESS_HEADER: usize = 8;
const ROUTE_HEADER: usize = 12;
const NEXT_HOP_HEADER: usize = 8;

/// Attributes (type, value) up to the first malformed one.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).map_while(Result::ok).map(|nla| {
        let kind = nla.kind();
        let length = usize::from(nla.length());
        (kind, nla.into_inner().get(4..length).unwrap_or_default())
    })
}

/// `struct ifinfomsg` and its attributes.
pub(crate) fn link(bytes: &[u8]) -> Option<Link> {
    let (header, rest) = bytes.split_at_checked(LINK_HEADER)?;
    let mut link = Link {
        index: parse_u32(&header[4..8]).ok()?,
        flags: parse_u32(&header[8..12]).ok()?,
        ..Link::default()
    };
    for (kind, value) in attributes(rest) {
        match kind {
            IFLA_ADDRESS => link.mac = hardware_address(value),
            IFLA_IFNAME => link.name = parse_string(value).ok()?,
            IFLA_MTU => link.mtu = parse_u32(value).ok()?,
            IFLA_LINKINFO => link_info(value, &mut link),
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

fn link_info(bytes: &[u8], link: &mut Link) {
    let mut bond_member = false;
    for (kind, value) in attributes(bytes) {
        match kind {
            IFLA_INFO_KIND => link.kind = parse_string(value).ok(),
            IFLA_INFO_SLAVE_KIND => bond_member = parse_string(value).is_ok_and(|kind| kind == "bond"),
            IFLA_INFO_SLAVE_DATA if bond_member => {
                link.permanent_mac = attributes(value)
                    .find(|(kind, _)| *kind == IFLA_BOND_SLAVE_PERM_HWADDR)
                    .and_then(|(_, value)| hardware_address(value));
            }
            _ => {}
        }
    }
}

/// Colon form; `None` for the all-zero address, which stands for "has none".
fn hardware_address(bytes: &[u8]) -> Option<String> {
    if bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"))
}

/// `struct ifaddrmsg` and its attributes.
pub(crate) fn address(bytes: &[u8]) -> Option<Address> {
    let (header, rest) = bytes.split_at_checked(ADDRESS_HEADER)?;
    let (mut local, mut any) = (None, None);
    for (kind, value) in attributes(rest) {
        match kind {
            // On a point-to-point link the plain address is the peer's.
            IFA_LOCAL => local = parse_ip(value).ok(),
            IFA_ADDRESS => any = parse_ip(value).ok(),
            _ => {}
        }
    }
    Some(Address { index: parse_u32(&header[4..8]).ok()?, ip: local.or(any)?, prefix: header[1] })
}

/// `struct rtmsg` and its attributes.
pub(crate) fn route(bytes: &[u8]) -> Option<Route> {
    let (header, rest) = bytes.split_at_checked(ROUTE_HEADER)?;
    let mut route = Route {
        family: header[0],
        prefix: header[1],
        table: header[4].into(),
        protocol: header[5],
        flags: parse_u32(&header[8..12]).ok()?,
        ..Route::default()
    };
    for (kind, value) in attributes(rest) {
        match kind {
            RTA_DST => route.destination = parse_ip(value).ok(),
            RTA_OIF => route.out = parse_u32(value).ok(),
            RTA_GATEWAY => route.gateway = parse_ip(value).ok(),
            RTA_VIA => route.gateway = route.gateway.or_else(|| via(value)),
            RTA_PRIORITY => route.metric = parse_u32(value).ok()?,
            RTA_TABLE => route.table = parse_u32(value).ok()?,
            RTA_MULTIPATH => route.next_hops = next_hops(value),
            _ => {}
        }
    }
    Some(route)
}

/// An IPv4 route's IPv6 gateway: address family, then the address.
fn via(value: &[u8]) -> Option<IpAddr> {
    parse_ip(value.get(2..)?).ok()
}

/// A row of `struct rtnexthop`, each with attributes of its own.
fn next_hops(mut bytes: &[u8]) -> Vec<NextHop> {
    let mut hops = Vec::new();
    while bytes.len() >= NEXT_HOP_HEADER {
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let Some(hop) = bytes.get(..length).filter(|hop| hop.len() >= NEXT_HOP_HEADER) else { break };
        let Ok(out) = parse_u32(&hop[4..8]) else { break };
        let gateway = attributes(&hop[NEXT_HOP_HEADER..]).find_map(|(kind, value)| match kind {
            RTA_GATEWAY => parse_ip(value).ok(),
            RTA_VIA => via(value),
            _ => None,
        });
        hops.push(NextHop { out, gateway });
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(value.len() + 4).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn a_bond_member_keeps_its_permanent_address() {
        let mut bytes = vec![0; LINK_HEADER];
        bytes[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        bytes[8..12].copy_from_slice(&0x1843_u32.to_ne_bytes());
        bytes.extend(nla(IFLA_IFNAME, b"eno1\0"));
        bytes.extend(nla(IFLA_ADDRESS, &[2, 0, 0, 0, 0, 1]));
        let perm = nla(IFLA_BOND_SLAVE_PERM_HWADDR, &[2, 0, 0, 0, 0, 9]);
        let info = [nla(IFLA_INFO_SLAVE_KIND, b"bond\0"), nla(IFLA_INFO_SLAVE_DATA, &perm)].concat();
        bytes.extend(nla(IFLA_LINKINFO | 0x8000, &info));
        let link = link(&bytes).unwrap();
        assert_eq!((link.index, link.name.as_str(), link.flags), (7, "eno1", 0x1843));
        assert_eq!(link.mac.as_deref(), Some("02:00:00:00:00:01"));
        assert_eq!(link.permanent_mac.as_deref(), Some("02:00:00:00:00:09"));
    }

    #[test]
    fn a_peer_address_is_not_the_hosts() {
        let mut bytes = vec![2, 32, 0, 0, 0, 0, 0, 0];
        bytes.extend(nla(IFA_ADDRESS, &[10, 0, 0, 2]));
        bytes.extend(nla(IFA_LOCAL, &[10, 0, 0, 1]));
        assert_eq!(address(&bytes).unwrap().ip.to_string(), "10.0.0.1");
    }

    #[test]
    fn a_multipath_route_has_its_hops() {
        let gateway = nla(RTA_GATEWAY, &[10, 0, 0, 1]);
        let hop = |out: u32| {
            let mut hop = vec![16, 0, 0, 0];
            hop[..2].copy_from_slice(&16_u16.to_ne_bytes());
            hop.extend(out.to_ne_bytes());
            hop.extend(&gateway);
            hop
        };
        let mut bytes = vec![2, 0, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        bytes.extend(nla(RTA_MULTIPATH, &[hop(2), hop(3)].concat()));
        let route = route(&bytes).unwrap();
        assert_eq!(route.next_hops.iter().map(|hop| hop.out).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(route.next_hops[0].gateway.unwrap().to_string(), "10.0.0.1");
    }

    #[test]
    fn garbage_is_refused_without_panic() {
        for length in 0..64 {
            for fill in [0_u8, 1, 4, 0x7f, 0xff] {
                let bytes = vec![fill; length];
                let _ = (link(&bytes), address(&bytes), route(&bytes), next_hops(&bytes));
            }
        }
    }
}
