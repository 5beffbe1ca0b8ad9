//! Neighbour discovery: which hardware address answers for an IPv6 address on a link.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use rustix::net::sockopt;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{EthernetAddress, Icmpv6Message, Icmpv6Packet, Icmpv6Repr, NdiscRepr};

use super::socket::{Datagram, Socket};
use super::{ProbeRounds, Shared, exchange};
use crate::nic::{Mac, Nic};

/// Neighbours believe only what no router has passed on, so all of it has the highest hop limit.
const HOPS: u8 = 255;

/// The hardware address that first answers for each target; silent targets are missing. Ends when all have answered.
///
/// # Errors
/// When the interface can't be asked at all.
pub async fn ndp(nic: &Nic, targets: &[Ipv6Addr], rounds: ProbeRounds) -> io::Result<HashMap<Ipv6Addr, Mac>> {
    let Some(own) = nic.mac else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{} has no MAC address", nic.name)));
    };
    let found = Shared::new(HashMap::new());
    if targets.is_empty() {
        return Ok(found.into_inner());
    }
    let wanted: std::collections::HashSet<_> = targets.iter().copied().collect();
    let socket = Socket::icmp(true, Some(&nic.name))?;
    sockopt::set_ipv6_unicast_hops(socket.fd(), Some(HOPS))?;
    sockopt::set_ipv6_multicast_hops(socket.fd(), HOPS.into())?;
    sockopt::set_ipv6_multicast_if(socket.fd(), nic.index)?;
    let ask = |_, question: usize| {
        let target = targets[question];
        let known = found.with(|found: &mut HashMap<_, _>| found.contains_key(&target));
        let to = SocketAddr::V6(SocketAddrV6::new(solicited_node(target), 0, 0, nic.index));
        (!known).then(|| Datagram { bytes: solicitation(own, target), to: Some(to) })
    };
    let take = |bytes: &[u8], _| {
        let Some((ip, mac)) = advertisement(bytes).filter(|(ip, _)| wanted.contains(ip)) else {
            return false;
        };
        found.with(|found| {
            found.entry(ip).or_insert(mac);
            found.len() == wanted.len()
        })
    };
    exchange(&socket, rounds, targets.len(), ask, take).await?;
    Ok(found.into_inner())
}

/// The group that whoever has the address listens to.
fn solicited_node(ip: Ipv6Addr) -> Ipv6Addr {
    let [.., high, low] = ip.segments();
    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | (high & 0xff), low)
}

/// The kernel adds the checksum, since it knows from which address the packet leaves.
fn solicitation(own: Mac, target_addr: Ipv6Addr) -> Vec<u8> {
    let lladdr = Some(EthernetAddress(own.0).into());
    let request = Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr, lladdr });
    let mut bytes = vec![0; request.buffer_len()];
    let any = Ipv6Addr::UNSPECIFIED;
    request.emit(
        &any,
        &any,
        &mut Icmpv6Packet::new_unchecked(&mut bytes[..]),
        &ChecksumCapabilities::ignored(),
    );
    bytes
}

pub(crate) fn advertisement(bytes: &[u8]) -> Option<(Ipv6Addr, Mac)> {
    let packet = Icmpv6Packet::new_checked(bytes).ok()?;
    if packet.msg_type() != Icmpv6Message::NeighborAdvert {
        return None;
    }
    match NdiscRepr::parse(&packet).ok()? {
        NdiscRepr::NeighborAdvert { target_addr, lladdr: Some(lladdr), .. } => {
            Some((target_addr, Mac(lladdr.as_bytes().try_into().ok()?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_a_question_goes_to() {
        let ip: Ipv6Addr = "fd2e:6f44:5dd8::12ab:cdef".parse().unwrap();
        assert_eq!(solicited_node(ip), "ff02::1:ffab:cdef".parse::<Ipv6Addr>().unwrap());
    }

    #[test]
    fn only_advertisements_with_an_address_count() {
        let (mac, ip) = (Mac([2, 0, 0, 0, 0, 1]), "fd00::1".parse().unwrap());
        let mut bytes = solicitation(mac, ip);
        assert_eq!(bytes.len(), 32);
        assert_eq!(advertisement(&bytes), None);
        // The same layout, but for the kinds of the message and of its option.
        (bytes[0], bytes[24]) = (136, 2);
        assert_eq!(advertisement(&bytes), Some((ip, mac)));
        for length in 0..bytes.len() {
            assert_eq!(advertisement(&bytes[..length]), None, "{length}");
        }
    }
}
