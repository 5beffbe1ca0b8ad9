//! The shape of a cluster, and what its machines are.

use std::net::Ipv4Addr;

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::controlled::Controller;
use crate::network::Member;

/// The shape of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// One node
    Sno,
    /// Three control-plane nodes
    Compact,
    /// Three control-plane nodes and two workers
    Ha,
    /// Two control-plane nodes and an arbiter
    Arbiter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Master,
    Arbiter,
    Worker,
}

/// A machine that is to be.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) address: Ipv4Addr,
    /// `52:54:00:…`, by which its host is known.
    pub(super) mac: String,
    /// Whether it is added once the cluster is installed.
    pub(super) is_late: bool,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Virtual { number: usize, id: Uuid, memory_mib: u32 },
    Namespace { number: usize, id: Uuid },
    Real(Controller),
}

impl Topology {
    pub(super) fn masters(self) -> usize {
        match self {
            Self::Sno => 1,
            Self::Arbiter => 2,
            Self::Compact | Self::Ha => 3,
        }
    }

    pub(super) fn workers(self) -> usize {
        if self == Self::Ha { 2 } else { 0 }
    }
}

/// The addresses of machines with a role.
pub(super) fn addresses(role: Role) -> impl Iterator<Item = Ipv4Addr> {
    let last = match role {
        Role::Master => 10..15,
        Role::Arbiter => 15..20,
        Role::Worker => 20..100,
    };
    last.map(|last| Ipv4Addr::new(192, 168, 126, last))
}

impl Role {
    /// Its name, as the service calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }
}

impl Planned {
    /// Whether a host is this machine: it has told its hardware, and the machine's card is among it.
    pub(super) fn is(&self, host: &Value) -> bool {
        let inventory = host["inventory"].as_str().unwrap_or_default();
        let inventory: Value = serde_json::from_str(inventory).unwrap_or_default();
        let cards = inventory["interfaces"].as_array().into_iter().flatten();
        let mut macs = cards.filter_map(|card| card["mac_address"].as_str());
        macs.any(|mac| mac.eq_ignore_ascii_case(&self.mac))
    }

    pub(super) fn member(&self) -> Member {
        Member { name: self.name.clone(), mac: self.mac.clone(), address: self.address }
    }
}
