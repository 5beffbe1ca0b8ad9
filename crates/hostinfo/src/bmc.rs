//! The management controller's addresses (agent-protocol §3.3).
//!
//! They come from the firmware's description of the controller's Redfish service. Controllers that only answer IPMI
//! are not asked: that takes a device ioctl, which safe code can't make. Their addresses are reported as unknown.

use std::net::IpAddr;

use crate::smbios::Smbios;

const NO_IPV4: &str = "0.0.0.0";
const NO_IPV6: &str = "::/0";

/// IPv4 and IPv6 address, or what stands for none. A link-local one leads from the machine to its controller and
/// nowhere else, so it counts as none.
pub(crate) fn addresses(smbios: &Smbios) -> (String, String) {
    let find =
        |wanted: fn(&IpAddr) -> bool| smbios.redfish.iter().copied().find(wanted).map(|ip| ip.to_string());
    let ipv4 = find(|ip| matches!(ip, IpAddr::V4(ip) if !ip.is_link_local()));
    let ipv6 = find(|ip| matches!(ip, IpAddr::V6(ip) if !ip.is_unicast_link_local()));
    (ipv4.unwrap_or_else(|| NO_IPV4.into()), ipv6.unwrap_or_else(|| NO_IPV6.into()))
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
}
