//! Addresses and networks as people and programs write them.

use std::net::IpAddr;

use ipnet::IpNet;

/// Reads a network in CIDR form; `None` unless it is one. Host bits are kept.
pub fn parse_net(text: &str) -> Option<IpNet> {
    let (address, prefix) = text.split_once('/')?;
    let plain =
        prefix.bytes().all(|byte| byte.is_ascii_digit()) && (prefix == "0" || !prefix.starts_with('0'));
    // The standard library's parser refuses leading zeros, which some read as octal.
    IpNet::new(address.parse().ok()?, prefix.parse().ok().filter(|_| plain)?).ok()
}

/// Reads a network and clears its host bits.
pub fn parse_network(text: &str) -> Option<IpNet> {
    parse_net(text).map(|net| net.trunc())
}

/// A network in canonical form; the text itself when it is not a network.
pub fn canonical_network(text: &str) -> String {
    parse_network(text).map_or_else(|| text.to_owned(), |net| net.to_string())
}

/// An address in canonical form; the text itself when it is not an address.
pub fn canonical_address(text: &str) -> String {
    text.parse::<IpAddr>().map_or_else(|_| text.to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict() {
        for bad in [
            "",
            "10.0.0.1",
            "10.0.0.0/33",
            "10.0.0/24",
            "fe80::/129",
            "010.0.0.0/8",
            " 10.0.0.0/8",
            "a/8",
            "10.0.0.0/+8",
            "10.0.0.0/08",
            "10.0.0.0/",
        ] {
            assert_eq!(parse_net(bad), None, "{bad}");
        }
        assert_eq!(canonical_network("10.1.2.3/24"), "10.1.2.0/24");
        assert_eq!(canonical_network("FD00:0::1/64"), "fd00::/64");
        assert_eq!(canonical_network("nonsense"), "nonsense");
    }

    #[test]
    fn addresses() {
        assert_eq!(canonical_address("FD00:0::1"), "fd00::1");
        assert_eq!(canonical_address("10.0.0.1"), "10.0.0.1");
        assert_eq!(canonical_address("010.0.0.1"), "010.0.0.1");
    }
}
