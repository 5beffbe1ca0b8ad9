//! One DNS record: its name, and the address that it leads to.

use std::fmt;
use std::net::IpAddr;

/// How long resolvers may remember a record, in seconds.
pub const TTL: u32 = 60;

/// A name and the address that it leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record {
    /// All of the name, without a dot at its end; its first label may be `*`.
    pub name: String,
    pub address: IpAddr,
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An IPv4 address.
    A,
    /// An IPv6 address.
    Aaaa,
}

impl Record {
    /// The kind that its address asks for.
    pub const fn kind(&self) -> Kind {
        match self.address {
            IpAddr::V4(_) => Kind::A,
            IpAddr::V6(_) => Kind::Aaaa,
        }
    }
}

impl Kind {
    /// Its name in the DNS.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
        }
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.kind().as_str(), self.address)
    }
}
