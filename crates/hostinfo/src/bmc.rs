//! The management controller's addresses (agent-protocol §3.3).
//!
//! Two sources know them. The firmware describes the controller's Redfish service, which is read from any root. The
//! controller itself tells its LAN settings by IPMI; that takes a device ioctl, which safe code can't make, so a
//! running machine's `ipmitool` is asked: the caller runs it, and what it prints is understood here. A captured machine
//! has only the firmware's word.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;

use crate::smbios::Smbios;

const NO_IPV4: &str = "0.0.0.0";
const NO_IPV6: &str = "::/0";

/// IPv4 and IPv6 address by the firmware's word, or what stands for none. A link-local one leads from the machine to
/// its controller and nowhere else, so it counts as none.
pub(crate) fn addresses(smbios: &Smbios) -> (String, String) {
    let find =
        |wanted: fn(&IpAddr) -> bool| smbios.redfish.iter().copied().find(wanted).map(|ip| ip.to_string());
    let ipv4 = find(|ip| matches!(ip, IpAddr::V4(ip) if !ip.is_link_local()));
    let ipv6 = find(|ip| matches!(ip, IpAddr::V6(ip) if !ip.is_unicast_link_local()));
    (ipv4.unwrap_or_else(|| NO_IPV4.into()), ipv6.unwrap_or_else(|| NO_IPV6.into()))
}

/// The address in what `ipmitool lan print` prints; none where the channel has none.
pub fn lan_address(output: &str) -> Option<Ipv4Addr> {
    let ip: Ipv4Addr = value(output, "IP Address")?.parse().ok()?;
    (!ip.is_unspecified()).then_some(ip)
}

/// Whether what `ipmitool lan6 print … enables` prints says that the channel speaks IPv6.
pub fn lan6_enabled(output: &str) -> bool {
    matches!(value(output, "IPv6/IPv4 Addressing Enables"), Some("both" | "ipv6"))
}

/// The first active address in what `ipmitool lan6 print … dynamic_addr` or `static_addr` prints: one that came by
/// DHCPv6 or router advertisement, or one that was set and is enabled.
pub fn lan6_address(output: &str) -> Option<Ipv6Addr> {
    let mut blocks: BTreeMap<(&str, u32), Vec<(&str, &str)>> = BTreeMap::new();
    let mut current = None;
    for line in output.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if line.starts_with(char::is_whitespace) {
            if let Some(block) = current.and_then(|at| blocks.get_mut(&at)) {
                block.push((name.trim(), value.trim()));
            }
        } else {
            // `Dynamic Address 3:`
            let (kind, number) = name.trim().rsplit_once(' ').unwrap_or((name, ""));
            current = number.parse().ok().map(|number| (kind, number));
            current.map(|at| blocks.entry(at).or_default());
        }
    }
    blocks.values().find_map(|block| {
        let get = |wanted: &str| block.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        let wanted = match get("Enabled") {
            Some(enabled) => is_true(enabled),
            None => matches!(get("Source/Type"), Some("DHCPv6" | "SLAAC")),
        };
        let address: Ipv6Net = get("Address")?.parse().ok()?;
        (wanted && get("Status") == Some("active") && !address.addr().is_unspecified())
            .then(|| address.addr())
    })
}

/// The value of the first `name : value` line of exactly this name.
fn value<'a>(output: &'a str, wanted: &str) -> Option<&'a str> {
    let lines = output.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.trim(), value.trim())).find(|(name, _)| *name == wanted).map(|(_, v)| v)
}

/// The words for "true" of YAML 1.1, as which the tool's output is read.
fn is_true(word: &str) -> bool {
    ["y", "yes", "true", "on"].contains(&word.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_local_addresses_count_as_none() {
        let known = |ips: &[&str]| Smbios {
            redfish: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
            ..Smbios::default()
        };
        let text = |v4: &str, v6: &str| (v4.to_owned(), v6.to_owned());
        assert_eq!(addresses(&known(&[])), text("0.0.0.0", "::/0"));
        assert_eq!(addresses(&known(&["169.254.1.1", "fe80::1"])), text("0.0.0.0", "::/0"));
        assert_eq!(addresses(&known(&["169.254.1.1", "10.1.2.3", "fd00::7"])), text("10.1.2.3", "fd00::7"));
    }

    #[test]
    fn the_channels_address_is_taken() {
        let print = |ip: &str| {
            format!(
                "Set in Progress         : Set Complete\nIP Address Source       : DHCP Address\n\
                 IP Address              : {ip}\nSubnet Mask             : 255.255.252.0\n\
                 IP Header               : TTL=0x40 Flags=0x40\nIP Address              : 10.9.9.9\n"
            )
        };
        assert_eq!(lan_address(&print("10.16.218.144")), Some(Ipv4Addr::new(10, 16, 218, 144)));
        for none in ["0.0.0.0", "", "none", "fd00::1", "10.0.0.1/24"] {
            assert_eq!(lan_address(&print(none)), None, "{none:?}");
        }
        assert_eq!(lan_address(""), None);
    }

    #[test]
    fn a_channel_says_whether_it_speaks_ipv6() {
        for (output, enabled) in [
            ("IPv6/IPv4 Addressing Enables: both\n", true),
            ("IPv6/IPv4 Addressing Enables: ipv6\n", true),
            ("IPv6/IPv4 Addressing Enables: ipv4\n", false),
            ("", false),
        ] {
            assert_eq!(lan6_enabled(output), enabled, "{output}");
        }
    }

    #[test]
    fn the_lowest_active_address_is_taken() {
        let dynamic = |number: u32, source: &str, address: &str, status: &str| {
            format!(
                "Dynamic Address {number}:\n    Source/Type:    {source}\n    Address:        {address}\n\
                 \x20   Status:         {status}\n"
            )
        };
        let fixed = |enabled: &str, address: &str, status: &str| {
            format!(
                "Static Address 0:\n    Enabled:        {enabled}\n    Address:        {address}\n    Status:         {status}\n"
            )
        };
        let found = |output: &str| lan6_address(output).map(|ip| ip.to_string());
        let one = Some("2620:52::6d6".to_owned());
        assert_eq!(found(&dynamic(0, "DHCPv6", "2620:52::6d6/64", "active")), one);
        assert_eq!(found(&dynamic(0, "SLAAC", "2620:52::6d6/64", "active")), one);
        assert_eq!(found(&fixed("yes", "2620:52::6d6/64", "active")), one);
        assert_eq!(found(&fixed("True", "2620:52::6d6/64", "active")), one);
        let out_of_order = [
            dynamic(10, "SLAAC", "2620:52::10/64", "active"),
            dynamic(2, "SLAAC", "2620:52::6d6/64", "active"),
            dynamic(1, "SLAAC", "::/255", "active"),
            dynamic(0, "SLAAC", "2620:52::1/64", "disabled"),
        ];
        assert_eq!(found(&out_of_order.concat()), one);
        for none in [
            dynamic(0, "static", "2620:52::1/64", "active"),
            dynamic(0, "SLAAC", "2620:52::1", "active"),
            dynamic(0, "SLAAC", "::/0", "active"),
            fixed("no", "2620:52::1/64", "active"),
            fixed("yes", "2620:52::1/64", "pending"),
            "    Address: 2620:52::1/64\n".to_owned(),
            "Dynamic Address x:\n    Source/Type: SLAAC\n    Address: 2620::1/64\n    Status: active\n"
                .to_owned(),
            String::new(),
        ] {
            assert_eq!(found(&none), None, "{none}");
        }
    }
}
