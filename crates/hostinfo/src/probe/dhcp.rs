//! An address by DHCP for a hardware address that the host doesn't have otherwise (agent-protocol §2.4.4).
//!
//! The conversation is held on a macvlan link of its own, whose name the lease bears; the address is never put onto
//! it, so that the host doesn't answer for an address that is to belong to whichever host runs the cluster's VIP.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use jiff::Timestamp;
use rand::Rng;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    DhcpMessageType, DhcpOption, DhcpPacket, DhcpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};
use tokio::time::{sleep, timeout};

use super::lease::Lease;
use super::socket::{Datagram, Socket};
use crate::netlink::macvlan::Macvlan;
use crate::nic::{Mac, Nic};

const CLIENT: u16 = 68;
const SERVER: u16 = 67;
const ETHERNET: usize = 14;
const IP: usize = 20;
const UDP: usize = 8;
const HOST_NAME: u8 = 12;
/// Subnet mask, router, name servers, lease, renewal and rebinding times.
const WANTED: &[u8] = &[1, 3, 6, 51, 58, 59];
/// How often a server is asked to confirm.
const CONFIRMATIONS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Length of a lease that says nothing about it.
const LEASE: u32 = 3_600;

/// For whom an address is wanted.
#[derive(Clone, Copy, Debug)]
pub struct DhcpAsk<'a> {
    /// The interface in the network where the servers are.
    pub parent: &'a Nic,
    /// Name of the link, and of the interface in the lease.
    pub name: &'a str,
    pub mac: Mac,
    /// Host name sent to the server.
    pub host_name: &'a str,
    /// An address leased before, to be confirmed rather than looked for.
    pub known: Option<Ipv4Addr>,
    pub limit: Duration,
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum DhcpError {
    #[error("no DHCP server gave an address to {mac} within {} seconds", limit.as_secs())]
    Timeout { mac: Mac, limit: Duration },
    #[error("{name}: {source}")]
    Io { name: String, source: io::Error },
}

/// Asks for a lease.
///
/// # Errors
/// When the link can't be made, or no server gives an address in time.
pub async fn dhcp(ask: DhcpAsk<'_>) -> Result<Lease, DhcpError> {
    let refused = |source| DhcpError::Io { name: ask.name.to_owned(), source };
    let link = Macvlan::create(ask.parent.index, ask.name, ask.mac).map_err(refused)?;
    let nic = Nic {
        name: ask.name.to_owned(),
        index: link.index,
        mac: Some(ask.mac),
        mtu: ask.parent.mtu,
        kind: "macvlan".to_owned(),
        addresses: Vec::new(),
    };
    let socket = Socket::frames(&nic, rustix::net::eth::IP).map_err(refused)?;
    let conversation = DhcpExchange { socket, ask, id: rand::rng().random() };
    match timeout(ask.limit, conversation.acquire()).await {
        Ok(lease) => lease.map_err(refused),
        Err(_) => Err(DhcpError::Timeout { mac: ask.mac, limit: ask.limit }),
    }
}

struct DhcpExchange<'a> {
    socket: Socket,
    ask: DhcpAsk<'a>,
    id: u32,
}

/// What a server says.
pub(crate) struct DhcpReply {
    kind: DhcpMessageType,
    pub(crate) lease: Lease,
}

impl DhcpExchange<'_> {
    async fn acquire(&self) -> io::Result<Lease> {
        if let Some(known) = self.ask.known
            && let Some(lease) = self.request(known, None).await?
        {
            return Ok(lease);
        }
        let mut pause = FIRST_PAUSE;
        loop {
            self.send(DhcpMessageType::Discover, None, None).await;
            let offer = self.receive(pause, &[DhcpMessageType::Offer]).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
            if let Some(DhcpReply { lease, .. }) = offer {
                if let Some(lease) = self.request(lease.address, lease.server).await? {
                    return Ok(lease);
                }
                // A server that offers and then refuses isn't asked without end.
                sleep(FIRST_PAUSE).await;
            }
        }
    }

    /// The lease of an address; `None` where it is refused, or nobody confirms it.
    async fn request(&self, address: Ipv4Addr, server: Option<Ipv4Addr>) -> io::Result<Option<Lease>> {
        let mut pause = FIRST_PAUSE;
        for _ in 0..CONFIRMATIONS {
            self.send(DhcpMessageType::Request, Some(address), server).await;
            match self.receive(pause, &[DhcpMessageType::Ack, DhcpMessageType::Nak]).await? {
                Some(DhcpReply { kind: DhcpMessageType::Ack, lease }) => return Ok(Some(lease)),
                Some(_) => return Ok(None),
                None => pause *= 2,
            }
        }
        Ok(None)
    }

    async fn send(&self, kind: DhcpMessageType, wanted: Option<Ipv4Addr>, server: Option<Ipv4Addr>) {
        let name = [DhcpOption { kind: HOST_NAME, data: self.ask.host_name.as_bytes() }];
        let message = DhcpRepr {
            message_type: kind,
            transaction_id: self.id,
            secs: 0,
            client_hardware_address: EthernetAddress(self.ask.mac.0),
            client_ip: Ipv4Addr::UNSPECIFIED,
            your_ip: Ipv4Addr::UNSPECIFIED,
            server_ip: Ipv4Addr::UNSPECIFIED,
            router: None,
            subnet_mask: None,
            relay_agent_ip: Ipv4Addr::UNSPECIFIED,
            // The link has no address that a server could answer to.
            broadcast: true,
            requested_ip: wanted,
            client_identifier: None,
            server_identifier: server,
            parameter_request_list: Some(WANTED),
            dns_servers: None,
            max_size: None,
            lease_duration: None,
            renew_duration: None,
            rebind_duration: None,
            additional_options: &name,
        };
        if let Some(bytes) = frame(self.ask.mac, &message) {
            self.socket.send(&Datagram { bytes, to: None }).await;
        }
    }

    /// The first word of one of these kinds within `limit`.
    async fn receive(&self, limit: Duration, kinds: &[DhcpMessageType]) -> io::Result<Option<DhcpReply>> {
        let mut buffer = vec![0; 64 << 10];
        let hearing = async {
            loop {
                let (length, _) = self.socket.receive(&mut buffer).await?;
                if let Some(word) = reply(&buffer[..length], self.ask.name, self.ask.mac, self.id)
                    .filter(|word| kinds.contains(&word.kind))
                {
                    return Ok(word);
                }
            }
        };
        timeout(limit, hearing).await.ok().transpose()
    }
}

/// What a server says in a frame, to the one who asks for the link `name` with `mac` in the conversation `id`.
pub(crate) fn reply(frame: &[u8], name: &str, mac: Mac, id: u32) -> Option<DhcpReply> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    let ip = Ipv4Packet::new_checked(frame.payload()).ok()?;
    if ip.next_header() != IpProtocol::Udp {
        return None;
    }
    let udp = UdpPacket::new_checked(ip.payload()).ok()?;
    if (udp.src_port(), udp.dst_port()) != (SERVER, CLIENT) {
        return None;
    }
    let packet = DhcpPacket::new_checked(udp.payload()).ok()?;
    let said = DhcpRepr::parse(&packet).ok()?;
    if said.transaction_id != id || said.client_hardware_address.0 != mac.0 {
        return None;
    }
    let expire = said.lease_duration.unwrap_or(LEASE);
    let lease = Lease {
        interface: name.to_owned(),
        address: said.your_ip,
        subnet_mask: said.subnet_mask,
        router: said.router,
        dns_servers: said.dns_servers.iter().flatten().copied().collect(),
        server: said.server_identifier,
        begun: Timestamp::now(),
        renew: said.renew_duration.unwrap_or(expire / 2),
        rebind: said.rebind_duration.unwrap_or((u64::from(expire) * 7 / 8) as u32),
        expire,
    };
    // An answer that gives the address of nobody is none.
    let usable = said.message_type == DhcpMessageType::Nak
        || !(lease.address.is_unspecified() || lease.address.is_broadcast() || lease.address.is_multicast());
    usable.then_some(DhcpReply { kind: said.message_type, lease })
}

/// The message in UDP, IP and Ethernet, from nobody yet to everybody.
fn frame(mac: Mac, message: &DhcpRepr<'_>) -> Option<Vec<u8>> {
    let checksums = ChecksumCapabilities::default();
    let length = message.buffer_len();
    let mut bytes = vec![0; ETHERNET + IP + UDP + length];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    EthernetRepr {
        src_addr: EthernetAddress(mac.0),
        dst_addr: EthernetAddress::BROADCAST,
        ethertype: EthernetProtocol::Ipv4,
    }
    .emit(&mut frame);
    let (from, to) = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
    let mut packet = Ipv4Packet::new_unchecked(frame.payload_mut());
    Ipv4Repr {
        src_addr: from,
        dst_addr: to,
        next_header: IpProtocol::Udp,
        payload_len: UDP + length,
        hop_limit: 64,
    }
    .emit(&mut packet, &checksums);
    let mut written = false;
    UdpRepr { src_port: CLIENT, dst_port: SERVER }.emit(
        &mut UdpPacket::new_unchecked(packet.payload_mut()),
        &IpAddress::Ipv4(from),
        &IpAddress::Ipv4(to),
        length,
        |payload| written = message.emit(&mut DhcpPacket::new_unchecked(payload)).is_ok(),
        &checksums,
    );
    written.then_some(bytes)
}
