//! The kernel's view of the network: links, addresses and routes.
//!
//! The types are what the inventory needs of the kernel's answers, and serialise, so that a captured machine holds
//! them as `netlink.json`.

pub(crate) mod live;
pub(crate) mod macvlan;
pub(crate) mod message;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Largest set of answers that is taken, in bytes: a full internet routing table is no host's inventory.
pub(crate) const MAX_ANSWER: u64 = 16 << 20;

/// Everything that was asked for, each list in the kernel's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Netlink {
    #[serde(default)]
    pub(crate) links: Vec<Link>,
    #[serde(default)]
    pub(crate) addresses: Vec<Address>,
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
}

/// A network interface. Hardware addresses are bytes in lowercase colon form; the flags are the kernel's `IFF_*`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) flags: u32,
    #[serde(default)]
    pub(crate) mtu: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mac: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// The address that a member of a bond had before it took the bond's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) permanent_mac: Option<String>,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Address {
    pub(crate) index: u32,
    pub(crate) ip: IpAddr,
    pub(crate) prefix: u8,
}

/// A route; `family`, `table`, `protocol` and `flags` are the kernel's numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) family: u8,
    pub(crate) table: u32,
    #[serde(default)]
    pub(crate) protocol: u8,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) flags: u32,
    /// `None` for the default route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) destination: Option<IpAddr>,
    #[serde(default)]
    pub(crate) prefix: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<IpAddr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) out: Option<u32>,
    #[serde(default)]
    pub(crate) metric: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) next_hops: Vec<NextHop>,
}

/// One way of a multipath route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NextHop {
    pub(crate) out: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<IpAddr>,
}

/// `RT_TABLE_MAIN`.
pub(crate) const MAIN_TABLE: u32 = 254;
/// `RTPROT_RA`: the kernel made the route from a router advertisement.
pub(crate) const ROUTER_ADVERTISEMENT: u8 = 9;
/// `RTM_F_CLONED`: a cache entry rather than a route.
pub(crate) const CLONED: u32 = 0x200;

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks with a reference
fn is_zero(value: &u32) -> bool {
    *value == 0
}
