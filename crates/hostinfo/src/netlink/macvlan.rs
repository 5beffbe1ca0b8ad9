//! A second hardware address on an interface: a macvlan link that is there for as long as this value lives.

use std::io;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};

use super::live::{change, dump};
use crate::mac::Mac;

const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const IFF_UP: u32 = 1;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_MACVLAN_MODE: u16 = 1;
/// Links of this mode don't speak with each other.
const PRIVATE: u32 = 1;
const KIND: &str = "macvlan";

/// The link; dropping it takes it away.
#[derive(Debug)]
pub(crate) struct Macvlan {
    pub(crate) index: u32,
}

impl Macvlan {
    /// Makes it on the interface `parent`, and puts it up. One of the same name that was left behind gives way.
    ///
    /// # Errors
    /// When the kernel refuses, or something else has the name.
    pub(crate) fn create(parent: u32, name: &str, mac: Mac) -> io::Result<Self> {
        let mut name_bytes = name.as_bytes().to_vec();
        name_bytes.push(0);
        let data = attribute(IFLA_MACVLAN_MODE, &PRIVATE.to_ne_bytes());
        let info = [attribute(IFLA_INFO_KIND, KIND.as_bytes()), attribute(IFLA_INFO_DATA, &data)].concat();
        let body = [
            header(0, IFF_UP).to_vec(),
            attribute(IFLA_LINK, &parent.to_ne_bytes()),
            attribute(IFLA_IFNAME, &name_bytes),
            attribute(IFLA_ADDRESS, &mac.0),
            attribute(IFLA_LINKINFO, &info),
        ]
        .concat();
        let make = || change(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body);
        match make() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let left = dump()?.links.into_iter().find(|link| link.name == name);
                match left {
                    Some(left) if left.kind.as_deref() == Some(KIND) => remove(left.index)?,
                    _ => return Err(error),
                }
                make()?;
            }
            other => other?,
        }
        let link = dump()?.links.into_iter().find(|link| link.name == name);
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("{name} is gone"));
        Ok(Self { index: link.ok_or_else(gone)?.index })
    }
}

impl Drop for Macvlan {
    fn drop(&mut self) {
        if let Err(error) = remove(self.index) {
            tracing::warn!(%error, index = self.index, "link not removed");
        }
    }
}

fn remove(index: u32) -> io::Result<()> {
    change(RTM_DELLINK, 0, &header(index, 0))
}

/// `struct ifinfomsg`; the flags are those to set.
fn header(index: u32, flags: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&flags.to_ne_bytes());
    header
}

/// Length, kind and value, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
