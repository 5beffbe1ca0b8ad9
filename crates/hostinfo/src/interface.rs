//! Network interfaces and their addresses (agent-protocol §3.5), and the hostname that one of them lends (§3.2).

use std::net::{IpAddr, Ipv4Addr};

use assisted_wire::inventory::Interface;
use ipnet::{IpNet, Ipv6Net};

use crate::Root;
use crate::netlink::{Link, MAIN_TABLE, Netlink, ROUTER_ADVERTISEMENT, Route};

/// The kernel's `IFF_*` bits that are reported, in the order of the report.
const FLAGS: &[(u32, &str)] = &[
    (0x1, "up"),
    (0x2, "broadcast"),
    (0x8, "loopback"),
    (0x10, "pointtopoint"),
    (0x1000, "multicast"),
    (0x40, "running"),
];

/// Hostnames that say nothing.
const NO_HOSTNAME: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// Every interface in the kernel's order, virtual ones included.
pub(crate) fn list(root: &Root, netlink: &Netlink) -> Vec<Interface> {
    netlink.links.iter().map(|link| interface(root, netlink, link)).collect()
}

fn interface(root: &Root, netlink: &Netlink, link: &Link) -> Interface {
    let sys = format!("/sys/class/net/{}", link.name);
    let attribute = |name: &str| root.text(&format!("{sys}/{name}"));
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for address in netlink.addresses.iter().filter(|address| address.index == link.index) {
        match address.ip {
            IpAddr::V4(ip) if !ip.is_link_local() => ipv4.push(format!("{ip}/{}", address.prefix)),
            IpAddr::V6(ip) if !ip.is_unicast_link_local() => {
                let prefix =
                    advertised_prefix(&netlink.routes, link.index, address.ip).unwrap_or(address.prefix);
                ipv6.push(format!("{ip}/{prefix}"));
            }
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
    }
    Interface {
        name: link.name.clone(),
        mtu: link.mtu.into(),
        flags: Some(
            FLAGS.iter().filter(|(bit, _)| link.flags & bit != 0).map(|(_, name)| (*name).into()).collect(),
        ),
        mac_address: link.permanent_mac.as_ref().or(link.mac.as_ref()).cloned().unwrap_or_default(),
        has_carrier: attribute("carrier").is_some_and(|carrier| carrier == "1"),
        speed_mbps: attribute("speed").and_then(|speed| speed.parse().ok()).unwrap_or_default(),
        product: attribute("device/device").unwrap_or_default(),
        vendor: attribute("device/vendor").unwrap_or_default(),
        biosdevname: bios_name(root, &sys),
        ipv4_addresses: Some(ipv4),
        ipv6_addresses: Some(ipv6),
        r#type: kind(root, link, &sys),
        client_id: String::new(),
    }
}

pub(crate) fn kind(root: &Root, link: &Link, sys: &str) -> String {
    let is_virtual = root.resolve(sys).is_some_and(|path| path.contains("/virtual/"));
    if !is_virtual {
        return "physical".into();
    }
    match link.kind.as_deref() {
        // Readers know the name that the whole family has.
        Some("tun" | "tap") => "tuntap".into(),
        Some(kind) => kind.into(),
        None => "device".into(),
    }
}

/// The name of an embedded port, `em1`, from the number that the firmware gives it. Ports of cards get none: their
/// slot's number isn't in sysfs.
fn bios_name(root: &Root, sys: &str) -> String {
    let index = root.text(&format!("{sys}/device/index")).and_then(|index| index.parse::<u16>().ok());
    index.map(|index| format!("em{index}")).unwrap_or_default()
}

/// A DHCPv6 address comes as /128; the router advertises the prefix it belongs to.
fn advertised_prefix(routes: &[Route], index: u32, ip: IpAddr) -> Option<u8> {
    let IpAddr::V6(ip) = ip else { return None };
    routes
        .iter()
        .filter(|route| route.table == MAIN_TABLE && route.protocol == ROUTER_ADVERTISEMENT)
        .filter(|route| route.out == Some(index))
        .filter_map(|route| match route.destination {
            Some(IpAddr::V6(destination)) => Ipv6Net::new(destination, route.prefix).ok(),
            _ => None,
        })
        .filter(|network| network.prefix_len() > 0)
        .find(|network| network.contains(&ip))
        .map(|network| network.prefix_len())
}

/// The machine's name, or a name from the first interface that can be reached where the machine has none.
pub(crate) fn hostname(root: &Root, interfaces: &[Interface]) -> String {
    let name = root.text("/proc/sys/kernel/hostname").unwrap_or_default();
    if NO_HOSTNAME.contains(&name.as_str()) { lent_name(interfaces).unwrap_or(name) } else { name }
}

fn lent_name(interfaces: &[Interface]) -> Option<String> {
    let reachable = |interface: &&Interface| {
        let addresses = [&interface.ipv4_addresses, &interface.ipv6_addresses];
        matches!(interface.r#type.as_str(), "physical" | "vlan" | "bond")
            && !interface.mac_address.is_empty()
            && addresses.into_iter().flatten().flatten().any(|address| is_global_unicast(address))
    };
    let first = interfaces.iter().filter(reachable).min_by(|a, b| a.name.cmp(&b.name))?;
    Some(first.mac_address.to_lowercase().replace(':', "-"))
}

fn is_global_unicast(cidr: &str) -> bool {
    match cidr.parse::<IpNet>().map(|network| network.addr()) {
        Ok(IpAddr::V4(ip)) => {
            !(ip.is_unspecified()
                || ip.is_loopback()
                || ip.is_multicast()
                || ip.is_link_local()
                || ip == Ipv4Addr::BROADCAST)
        }
        Ok(IpAddr::V6(ip)) => {
            !(ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || ip.is_unicast_link_local())
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(destination: &str, prefix: u8, protocol: u8) -> Route {
        Route {
            family: 10,
            table: MAIN_TABLE,
            protocol,
            destination: Some(destination.parse().unwrap()),
            prefix,
            out: Some(2),
            ..Route::default()
        }
    }

    #[test]
    fn only_an_advertised_route_corrects_a_prefix() {
        let ip = "fd00::5".parse().unwrap();
        assert_eq!(advertised_prefix(&[route("fd00::", 64, ROUTER_ADVERTISEMENT)], 2, ip), Some(64));
        assert_eq!(advertised_prefix(&[route("fd00::", 64, 2)], 2, ip), None);
        assert_eq!(advertised_prefix(&[route("fd01::", 64, ROUTER_ADVERTISEMENT)], 2, ip), None);
        assert_eq!(advertised_prefix(&[route("::", 0, ROUTER_ADVERTISEMENT)], 2, ip), None);
        assert_eq!(advertised_prefix(&[route("fd00::", 64, ROUTER_ADVERTISEMENT)], 3, ip), None);
    }

    fn named(name: &str, kind: &str, mac: &str, address: &str) -> Interface {
        Interface {
            name: name.into(),
            r#type: kind.into(),
            mac_address: mac.into(),
            ipv4_addresses: Some(vec![address.into()]),
            ..Interface::default()
        }
    }

    #[test]
    fn the_first_reachable_interface_lends_its_name() {
        let interfaces = [
            named("lo", "device", "", "127.0.0.1/8"),
            named("eth2", "physical", "52:54:00:AA:00:02", "10.0.0.2/24"),
            named("eth1", "physical", "52:54:00:AA:00:01", "192.168.1.2/24"),
            named("br0", "bridge", "52:54:00:AA:00:03", "10.0.0.3/24"),
            named("eth0", "physical", "52:54:00:AA:00:04", "169.254.3.1/16"),
        ];
        assert_eq!(lent_name(&interfaces).as_deref(), Some("52-54-00-aa-00-01"));
        assert_eq!(lent_name(&interfaces[..1]), None);
    }
}
