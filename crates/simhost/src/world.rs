//! Addresses and names: the network around a cluster's machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where the clusters' networks begin. They end before 10.128.0.0, where the pods' addresses begin.
const FIRST: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const ADDRESSES: u32 = 1 << 23;
/// Addresses of a network before the first host's.
const RESERVED: u32 = 10;
/// The smallest network, in bits of the host part.
const LEAST_BITS: u32 = 6;
/// Where IPv6 addresses begin; an IPv4 address in their last bits makes them whole.
const FIRST_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x5150, 0, 0, 0, 0, 0, 0);
/// Bits before those of the IPv4 address.
const V6_BITS: u8 = 96;

/// The IPv6 address that goes with an IPv4 address.
fn to_v6(address: Ipv4Addr) -> Ipv6Addr {
    (u128::from(FIRST_V6) | u128::from(u32::from(address))).into()
}

/// An address in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkAddress {
    pub address: Ipv4Addr,
    /// Bits of the network part.
    pub prefix: u8,
    /// Whether there is an IPv6 address too.
    pub dual: bool,
}

impl NetworkAddress {
    fn mask(self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0)
    }

    /// The network's address.
    pub fn network(self) -> Ipv4Addr {
        (u32::from(self.address) & self.mask()).into()
    }

    /// The router: the last address that is not the broadcast's.
    pub fn gateway(self) -> Ipv4Addr {
        (u32::from(self.address) | !self.mask()).saturating_sub(1).into()
    }

    /// The IPv6 address, and the bits of its network part.
    pub fn v6(self) -> Option<(Ipv6Addr, u8)> {
        self.dual.then(|| (to_v6(self.address), V6_BITS + self.prefix))
    }

    /// The router's IPv6 address.
    pub fn gateway_v6(self) -> Option<Ipv6Addr> {
        self.dual.then(|| to_v6(self.gateway()))
    }

    /// Whether both are on one link.
    pub fn reaches(self, other: IpAddr) -> bool {
        match other {
            IpAddr::V4(other) => u32::from(other) & self.mask() == u32::from(self.network()),
            IpAddr::V6(other) => {
                let mask = u128::MAX << (128 - u32::from(V6_BITS + self.prefix));
                self.dual && u128::from(other) & mask == u128::from(to_v6(self.network()))
            }
        }
    }
}

/// The network of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    network: NetworkAddress,
    hosts: u32,
    /// Whether names lead to addresses that are no host's; else they lead to the first host.
    vips: bool,
}

/// What a network is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Hosts of each cluster, those that are added later included.
    pub hosts: u32,
    /// Whether API and applications have addresses of their own.
    pub vips: bool,
    /// Whether there is IPv6 too.
    pub dual: bool,
}

impl Site {
    /// The network of cluster `index`, all of which need the same; nothing when so many don't fit.
    pub fn new(index: u32, Needs { hosts, vips, dual }: Needs) -> Option<Self> {
        // Broadcast and gateway come after the hosts.
        let bits = hosts.checked_add(RESERVED + 2)?.checked_next_power_of_two()?.ilog2().max(LEAST_BITS);
        let offset = index.checked_mul(1_u32.checked_shl(bits)?)?;
        let end = offset.checked_add(1 << bits)?;
        let network =
            NetworkAddress { address: (FIRST + offset).into(), prefix: u8::try_from(32 - bits).ok()?, dual };
        (end <= ADDRESSES).then_some(Self { network, hosts, vips })
    }

    fn at(self, number: u32) -> Ipv4Addr {
        (u32::from(self.network.address) + number).into()
    }

    /// The network as `address/bits`.
    pub fn cidr(self) -> String {
        format!("{}/{}", self.network.address, self.network.prefix)
    }

    /// All networks as `address/bits`, IPv4 first.
    pub fn cidrs(self) -> impl Iterator<Item = String> {
        let v6 = self.network.v6().map(|(address, bits)| format!("{address}/{bits}"));
        std::iter::once(self.cidr()).chain(v6)
    }

    /// An address as the cluster knows it: alone, or with the IPv6 address that goes with it.
    pub fn both(self, address: Ipv4Addr) -> impl Iterator<Item = IpAddr> {
        let v6 = self.network.dual.then(|| IpAddr::V6(to_v6(address)));
        std::iter::once(IpAddr::V4(address)).chain(v6)
    }

    /// Where the host at `place` stands.
    pub fn host(self, place: u32) -> NetworkAddress {
        NetworkAddress { address: self.at(RESERVED + place), ..self.network }
    }

    /// Where the API is reached.
    pub fn api(self) -> Ipv4Addr {
        if self.vips { self.at(2) } else { self.host(0).address }
    }

    /// Where the applications are reached.
    pub fn ingress(self) -> Ipv4Addr {
        if self.vips { self.at(3) } else { self.host(0).address }
    }

    /// Whether someone answers at an address.
    pub fn is_taken(self, address: IpAddr) -> bool {
        let address = match address {
            IpAddr::V4(address) => address,
            // The low half is the IPv4 address that goes with it.
            IpAddr::V6(address) => Ipv4Addr::from_bits((u128::from(address) & u128::from(u32::MAX)) as u32),
        };
        let first = u32::from(self.host(0).address);
        address == self.network.gateway() || (first..first + self.hosts).contains(&u32::from(address))
    }

    /// Addresses of the network at which nobody answers; a scan counts those of network and broadcast too.
    pub fn free(self) -> impl Iterator<Item = Ipv4Addr> {
        (0..1_u32 << (32 - self.network.prefix))
            .map(move |number| self.at(number))
            .filter(move |address| !self.is_taken(IpAddr::V4(*address)))
    }

    /// What a name resolves to: the cluster's own as its user set them up, anything else somewhere outside.
    pub fn resolve(self, name: &str) -> Option<Ipv4Addr> {
        let name = name.trim_end_matches('.');
        if name.starts_with("validateNoWildcardDNS.") {
            return None;
        }
        if name.starts_with("api.") || name.starts_with("api-int.") {
            return Some(self.api());
        }
        if name.split('.').nth(1) == Some("apps") {
            return Some(self.ingress());
        }
        Some(Ipv4Addr::new(198, 51, 100, 7))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(index: u32, hosts: u32) -> Option<Site> {
        Site::new(index, Needs { hosts, vips: true, dual: false })
    }

    #[test]
    fn networks_are_apart_and_hold_their_hosts() {
        let [one, two] = [0, 1].map(|index| site(index, 5).unwrap());
        assert_eq!((one.cidr(), two.cidr()), ("10.0.0.0/26".to_owned(), "10.0.0.64/26".to_owned()));
        let host = one.host(4);
        assert!(host.reaches(one.api().into()) && host.reaches(host.gateway().into()));
        assert!(!host.reaches(two.api().into()));
        assert_eq!(one.free().count(), 64 - 5 - 1);
        assert!(!one.is_taken(one.api().into()) && one.is_taken(host.address.into()));
        assert_eq!(site(0, 1014).unwrap().cidr(), "10.0.0.0/21");
    }

    #[test]
    fn two_families_have_the_same_links() {
        let [one, two] =
            [0, 1].map(|index| Site::new(index, Needs { hosts: 5, vips: true, dual: true }).unwrap());
        assert_eq!(one.cidrs().last().unwrap(), "fd00:5150::a00:0/122");
        let (address, bits) = one.host(4).v6().unwrap();
        assert_eq!((address.to_string(), bits), ("fd00:5150::a00:e".to_owned(), 122));
        assert!(one.host(0).reaches(address.into()) && !two.host(0).reaches(address.into()));
        assert!(one.is_taken(address.into()) && !one.is_taken(one.both(one.api()).last().unwrap()));
        assert_eq!(site(0, 5).unwrap().both(one.api()).count(), 1);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(site((1 << 17) - 1, 50).is_some());
        assert!(site(1 << 17, 50).is_none());
        assert!(site(0, u32::MAX).is_none());
        assert!(site(u32::MAX, 1).is_none());
    }

    #[test]
    fn names_lead_where_the_user_wants() {
        let several = site(3, 3).unwrap();
        assert_eq!(several.resolve("api.c.example.com"), Some(several.api()));
        assert_eq!(several.resolve("console-openshift-console.apps.c.example.com"), Some(several.ingress()));
        assert_eq!(several.resolve("validateNoWildcardDNS.c.example.com."), None);
        assert!(several.resolve("quay.io").is_some_and(|address| !several.host(0).reaches(address.into())));
        let single = Site::new(3, Needs { hosts: 1, vips: false, dual: false }).unwrap();
        assert_eq!(single.resolve("api-int.c.example.com"), Some(single.host(0).address));
    }
}
