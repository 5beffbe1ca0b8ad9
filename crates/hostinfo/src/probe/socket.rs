//! Raw sockets, read and written without blocking.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{SockaddrLike, setsockopt, sockopt::BindToDevice};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, send, sendto,
    socket_with, sockopt,
};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::nic::Nic;

/// Room for answers that come faster than they are read.
const BUFFER: usize = 8 << 20;

/// What to send; without an address it is a frame for the interface that the socket belongs to.
pub(super) struct Datagram {
    pub(super) bytes: Vec<u8>,
    pub(super) to: Option<SocketAddr>,
}

/// The runtime knows how to wait for sockets of UDP; the type is only that, the calls below are ours.
#[derive(Debug)]
pub(super) struct Socket(UdpSocket);

impl Socket {
    fn open(family: AddressFamily, protocol: Protocol) -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family, SocketType::RAW, flags, Some(protocol))?;
        // The larger size takes a right that a container may not have.
        if sockopt::set_socket_recv_buffer_size_force(&fd, BUFFER).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&fd, BUFFER);
        }
        Ok(fd)
    }

    /// Whole Ethernet frames of one protocol on one interface.
    pub(super) fn frames(nic: &Nic, protocol: Protocol) -> io::Result<Self> {
        let fd = Self::open(AddressFamily::PACKET, protocol)?;
        // Of all safe ways to an interface's link address this is the one: the kernel's list holds it ready-made, and
        // with no protocol in it the socket keeps its own.
        let address = getifaddrs()?
            .filter_map(|interface| interface.address)
            .find(|address| address.as_link_addr().is_some_and(|link| link.ifindex() == nic.index as usize))
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{} is gone", nic.name)))?;
        nix::sys::socket::bind(fd.as_raw_fd(), &address as &dyn SockaddrLike)?;
        Self::of(fd)
    }

    /// ICMP of one family, on one interface or all.
    pub(super) fn icmp(v6: bool, device: Option<&str>) -> io::Result<Self> {
        let fd = if v6 {
            Self::open(AddressFamily::INET6, rustix::net::ipproto::ICMPV6)?
        } else {
            Self::open(AddressFamily::INET, rustix::net::ipproto::ICMP)?
        };
        if let Some(device) = device {
            setsockopt(&fd, BindToDevice, &device.into())?;
        }
        Self::of(fd)
    }

    fn of(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self(UdpSocket::from_std(fd.into())?))
    }

    pub(super) fn fd(&self) -> &UdpSocket {
        &self.0
    }

    /// Sends, waiting for room. Where the kernel refuses (no route, too long, no neighbour) the datagram is lost, which
    /// is what the probe is to find out.
    pub(super) async fn send(&self, datagram: &Datagram) {
        loop {
            if self.0.writable().await.is_err() {
                return;
            }
            let sent = self.0.try_io(Interest::WRITABLE, || {
                let flags = SendFlags::empty();
                let sent = match datagram.to {
                    Some(to) => sendto(&self.0, &datagram.bytes, flags, &to),
                    None => send(&self.0, &datagram.bytes, flags),
                };
                Ok(sent?)
            });
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    tracing::trace!(%error, to = ?datagram.to, "not sent");
                    return;
                }
                Ok(_) => return,
            }
        }
    }

    /// The next datagram, and where it comes from where that is an address.
    pub(super) async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<IpAddr>)> {
        loop {
            self.0.readable().await?;
            let received = self
                .0
                .try_io(Interest::READABLE, || Ok(recvfrom(&self.0, &mut *buffer, RecvFlags::empty())?));
            match received {
                Ok((length, _, from)) => {
                    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                    return Ok((length, from.map(|from| from.ip())));
                }
                // Nothing there after all, or an error that an earlier datagram met on its way; what else comes is still
                // wanted.
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, WouldBlock};
    let kind = error.kind();
    matches!(kind, ConnectionRefused | HostUnreachable | Interrupted | NetworkUnreachable | WouldBlock)
}
