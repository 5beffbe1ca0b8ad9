//! Asking the running kernel, over one `NETLINK_ROUTE` socket.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    Emitable, ErrorBuffer, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer,
    NetlinkHeader,
};
use rustix::io::retry_on_intr;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use super::{Netlink, message};

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_GETLINK: u16 = 18;
const RTM_GETADDR: u16 = 22;
const RTM_GETROUTE: u16 = 26;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// The kernel never fills more in one answer.
const BUFFER: usize = 32 << 10;
/// The kernel answers at once; this only keeps a fault from lasting.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often a dump is asked for anew when the tables changed under it.
const ATTEMPTS: usize = 5;

/// Links, addresses and routes (IPv4, then IPv6).
///
/// # Errors
/// When the kernel refuses, or answers what can't be understood.
pub(crate) fn dump() -> io::Result<Netlink> {
    let socket = open()?;
    // ifinfomsg, ifaddrmsg and rtmsg; all zero but the family asks for everything.
    let links = ask(&socket, RTM_GETLINK, &[0; 16], message::link)?;
    let addresses = ask(&socket, RTM_GETADDR, &[0; 8], message::address)?;
    let mut routes = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let mut request = [0; 12];
        request[0] = family;
        routes.extend(ask(&socket, RTM_GETROUTE, &request, message::route)?);
    }
    Ok(Netlink { links, addresses, routes })
}

/// Asks the kernel for a change, and waits until it is made.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn change(kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let socket = open()?;
    send(&socket, kind, NLM_F_REQUEST | NLM_F_ACK | flags, 1, body)?;
    let mut buffer = vec![0_u8; BUFFER];
    let (length, _) = retry_on_intr(|| rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()))?;
    let message = NetlinkBuffer::new_checked(&buffer[..length])
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    // An error without a number is the acknowledgement.
    match ErrorBuffer::new_checked(message.payload()).map(|error| error.code()) {
        Ok(None) if message.message_type() == NLMSG_ERROR => Ok(()),
        _ => Err(refusal(message.payload())),
    }
}

fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(TIMEOUT))?;
    Ok(socket)
}

fn ask<T>(socket: &OwnedFd, kind: u16, body: &[u8], decode: fn(&[u8]) -> Option<T>) -> io::Result<Vec<T>> {
    for attempt in 0..ATTEMPTS {
        let sequence = u32::from(kind) * 16 + attempt as u32;
        send(socket, kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, body)?;
        let (found, interrupted) = receive(socket, sequence, decode)?;
        if !interrupted {
            return Ok(found);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the tables keep changing"))
}

fn send(socket: &OwnedFd, kind: u16, flags: u16, sequence: u32, body: &[u8]) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    let mut request = vec![0; header.buffer_len() + body.len()];
    header.length = u32::try_from(request.len()).map_err(io::Error::other)?;
    header.message_type = kind;
    header.flags = flags;
    header.sequence_number = sequence;
    header.emit(&mut request);
    let start = header.buffer_len();
    request[start..].copy_from_slice(body);
    rustix::net::send(socket, &request, SendFlags::empty())?;
    Ok(())
}

/// The decoded messages, and whether the kernel says that they may not fit together.
fn receive<T>(socket: &OwnedFd, sequence: u32, decode: fn(&[u8]) -> Option<T>) -> io::Result<(Vec<T>, bool)> {
    let mut buffer = vec![0_u8; BUFFER];
    let (mut found, mut interrupted, mut total) = (Vec::new(), false, 0_u64);
    loop {
        // With a time limit the kernel doesn't start the call again by itself after a signal.
        let (length, _) = retry_on_intr(|| rustix::net::recv(socket, &mut buffer[..], RecvFlags::empty()))?;
        total += length as u64;
        if length == 0 || total > super::MAX_ANSWER {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "answer without end"));
        }
        let mut rest = &buffer[..length];
        while !rest.is_empty() {
            let message = NetlinkBuffer::new_checked(rest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            let size = message.length() as usize;
            // What is left of an attempt that was given up.
            if message.sequence_number() == sequence {
                interrupted |= message.flags() & NLM_F_DUMP_INTR != 0;
                match message.message_type() {
                    NLMSG_DONE => return Ok((found, interrupted)),
                    NLMSG_ERROR => return Err(refusal(message.payload())),
                    _ => found.extend(decode(message.payload())),
                }
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

fn refusal(payload: &[u8]) -> io::Error {
    match ErrorBuffer::new_checked(payload).ok().and_then(|error| error.code()) {
        Some(code) => io::Error::from_raw_os_error(code.get().wrapping_abs()),
        None => io::Error::new(io::ErrorKind::InvalidData, "refusal without reason"),
    }
}
