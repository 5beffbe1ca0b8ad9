//! Ways in for the fuzz targets (`fuzz/`) to what reads firmware, kernel and network. Nothing else calls this.

use std::net::{IpAddr, Ipv4Addr};

use crate::netlink::message;
use crate::nic::Mac;
use crate::probe::{self, arp, ndp, ping};

/// Who the frames are for.
pub const OWN: Mac = Mac([2, 0, 0, 0, 0, 1]);
/// The conversation with a DHCP server.
pub const CONVERSATION: u32 = 0x0102_0304;

/// Reads the firmware's table: bytes of memory, and where the management controller is.
pub fn smbios(table: &[u8]) -> (u64, Vec<IpAddr>) {
    let found = crate::smbios::parse(table);
    (found.memory, found.redfish)
}

/// Reads a message of the kernel as one of each kind.
pub fn netlink(message: &[u8]) {
    let _ = message::link(message);
    let _ = message::address(message);
    let _ = message::route(message);
}

/// Reads a frame as the answer to each kind of question.
pub fn frame(frame: &[u8]) {
    let _ = arp::reply(frame, OWN);
    let _ = ndp::advertisement(frame);
    let _ = ping::v4_reply(frame);
    let _ = ping::v6_reply(frame);
}

/// Reads a frame as the word of a DHCP server: the text of the lease, and its address.
pub fn dhcp(frame: &[u8]) -> Option<(String, Ipv4Addr)> {
    let lease = probe::dhcp::reply(frame, "fuzz0", OWN, CONVERSATION)?.lease;
    Some((lease.to_string(), lease.address))
}

/// Reads the kernel's table of mounts.
pub fn mounts(table: &str) -> Vec<(String, String)> {
    crate::mounts::parse(table)
}
