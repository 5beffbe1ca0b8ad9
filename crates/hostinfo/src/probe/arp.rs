//! ARP: which hardware addresses answer for an IPv4 address on a link.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;

use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr,
};

use super::socket::{Datagram, Socket};
use super::{ProbeRounds, exchange};
use crate::nic::{Mac, Nic};

const HEADER: usize = 14;
const BODY: usize = 28;

/// Who has `target`? Tell `sender`, an address of the interface itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpAsk {
    pub sender: Ipv4Addr,
    pub target: Ipv4Addr,
}

/// Every hardware address that answers for each target, in the order in which they came: a second one means that two
/// machines have the same address. Silent targets are missing. Where `once` is said a target that has answered isn't
/// asked again, and the probe ends when all have.
///
/// # Errors
/// When frames can't be sent from that interface at all.
pub async fn arp(
    nic: &Nic,
    asks: &[ArpAsk],
    rounds: ProbeRounds,
    once: bool,
) -> io::Result<HashMap<Ipv4Addr, Vec<Mac>>> {
    let Some(own) = nic.mac else {
        return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{} has no MAC address", nic.name)));
    };
    let found = super::Shared::new(HashMap::<Ipv4Addr, Vec<Mac>>::new());
    if asks.is_empty() {
        return Ok(found.into_inner());
    }
    let wanted: std::collections::HashSet<_> = asks.iter().map(|ask| ask.target).collect();
    let socket = Socket::frames(nic, rustix::net::eth::ARP)?;
    let ask = |_, question: usize| {
        let ask = asks[question];
        let known = once && found.with(|found| found.contains_key(&ask.target));
        (!known).then(|| Datagram { bytes: request(own, ask), to: None })
    };
    let take = |frame: &[u8], _| {
        let Some((ip, mac)) = reply(frame, own).filter(|(ip, _)| wanted.contains(ip)) else { return false };
        found.with(|found| {
            let macs = found.entry(ip).or_default();
            if !macs.contains(&mac) && macs.len() < MOST_ANSWERS {
                macs.push(mac);
            }
            once && found.len() == wanted.len()
        })
    };
    exchange(&socket, rounds, asks.len(), ask, take).await?;
    Ok(found.into_inner())
}

/// More machines with one address than anyone has seen.
const MOST_ANSWERS: usize = 16;

fn request(own: Mac, ask: ArpAsk) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + BODY];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    let source = EthernetAddress(own.0);
    EthernetRepr { src_addr: source, dst_addr: EthernetAddress::BROADCAST, ethertype: EthernetProtocol::Arp }
        .emit(&mut frame);
    ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: source,
        source_protocol_addr: ask.sender,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: ask.target,
    }
    .emit(&mut ArpPacket::new_unchecked(frame.payload_mut()));
    bytes
}

/// The address and hardware address of a reply to us.
pub(crate) fn reply(frame: &[u8], own: Mac) -> Option<(Ipv4Addr, Mac)> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    let packet = ArpPacket::new_checked(frame.payload()).ok()?;
    match ArpRepr::parse(&packet).ok()? {
        ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Reply,
            source_hardware_addr,
            source_protocol_addr,
            target_hardware_addr,
            ..
        } if target_hardware_addr.0 == own.0 => Some((source_protocol_addr, Mac(source_hardware_addr.0))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_replies_to_us_count() {
        let (own, other) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let ask = ArpAsk { sender: Ipv4Addr::new(10, 0, 0, 1), target: Ipv4Addr::new(10, 0, 0, 2) };
        let mut frame = request(other, ArpAsk { sender: ask.target, target: ask.sender });
        assert_eq!(reply(&frame, own), None);
        frame[21] = 2;
        frame[32..38].copy_from_slice(&own.0);
        assert_eq!(reply(&frame, own), Some((ask.target, other)));
        assert_eq!(reply(&frame, other), None);
        for length in 0..frame.len() {
            assert_eq!(reply(&frame[..length], own), None, "{length}");
        }
    }
}
