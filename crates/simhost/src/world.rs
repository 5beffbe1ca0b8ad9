//! Addresses and names: the network around a cluster's machines.

use std::net::Ipv4Addr;

/// Where the clusters' networks begin. They end before 10.128.0.0, where the pods' addresses begin.
const FIRST: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const ADDRESSES: u32 = 1 << 23;
/// Addresses of a network before the first host's.
const RESERVED: u32 = 10;
/// The smallest network, in bits of the host part.
const LEAST_BITS: u32 = 6;

/// An address in its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub address: Ipv4Addr,
    /// Bits of the network part.
    pub prefix: u8,
}

impl Place {
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

    /// Whether both are on one link.
    pub fn reaches(self, other: Ipv4Addr) -> bool {
        u32::from(other) & self.mask() == u32::from(self.network())
    }
}

/// The network of one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    network: Place,
    hosts: u32,
    /// Whether names lead to virtual addresses; else they lead to the first host.
    vips: bool,
}

impl Site {
    /// The network of cluster `index`, all of which have `hosts` hosts; nothing when so many don't fit.
    pub fn new(index: u32, hosts: u32, vips: bool) -> Option<Self> {
        // Broadcast and gateway come after the hosts.
        let bits = hosts.checked_add(RESERVED + 2)?.checked_next_power_of_two()?.ilog2().max(LEAST_BITS);
        let offset = index.checked_mul(1_u32.checked_shl(bits)?)?;
        let end = offset.checked_add(1 << bits)?;
        let network = Place { address: (FIRST + offset).into(), prefix: u8::try_from(32 - bits).ok()? };
        (end <= ADDRESSES).then_some(Self { network, hosts, vips })
    }

    fn at(self, number: u32) -> Ipv4Addr {
        (u32::from(self.network.address) + number).into()
    }

    /// The network as `address/bits`.
    pub fn cidr(self) -> String {
        format!("{}/{}", self.network.address, self.network.prefix)
    }

    /// Where the host at `place` stands.
    pub fn host(self, place: u32) -> Place {
        Place { address: self.at(RESERVED + place), prefix: self.network.prefix }
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
    pub fn is_taken(self, address: Ipv4Addr) -> bool {
        let first = u32::from(self.host(0).address);
        address == self.network.gateway() || (first..first + self.hosts).contains(&u32::from(address))
    }

    /// Addresses of the network at which nobody answers; a scan counts those of network and broadcast too.
    pub fn free(self) -> impl Iterator<Item = Ipv4Addr> {
        (0..1_u32 << (32 - self.network.prefix))
            .map(move |number| self.at(number))
            .filter(move |address| !self.is_taken(*address))
    }

    /// What a name resolves to: the cluster's own as its owner set them up, anything else somewhere outside.
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

    #[test]
    fn networks_are_apart_and_hold_their_hosts() {
        let [one, two] = [0, 1].map(|index| Site::new(index, 5, true).unwrap());
        assert_eq!((one.cidr(), two.cidr()), ("10.0.0.0/26".to_owned(), "10.0.0.64/26".to_owned()));
        let host = one.host(4);
        assert!(host.reaches(one.api()) && host.reaches(host.gateway()) && !host.reaches(two.api()));
        assert_eq!(one.free().count(), 64 - 5 - 1);
        assert!(!one.is_taken(one.api()) && one.is_taken(host.address));
        assert_eq!(Site::new(0, 1014, true).unwrap().cidr(), "10.0.0.0/21");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(Site::new((1 << 17) - 1, 50, true).is_some());
        assert!(Site::new(1 << 17, 50, true).is_none());
        assert!(Site::new(0, u32::MAX, true).is_none());
        assert!(Site::new(u32::MAX, 1, true).is_none());
    }

    #[test]
    fn names_lead_where_the_owner_wants() {
        let site = Site::new(3, 3, true).unwrap();
        assert_eq!(site.resolve("api.c.example.com"), Some(site.api()));
        assert_eq!(site.resolve("console-openshift-console.apps.c.example.com"), Some(site.ingress()));
        assert_eq!(site.resolve("validateNoWildcardDNS.c.example.com."), None);
        assert!(site.resolve("quay.io").is_some_and(|address| !site.host(0).reaches(address)));
        let single = Site::new(3, 1, false).unwrap();
        assert_eq!(single.resolve("api-int.c.example.com"), Some(single.host(0).address));
    }
}
