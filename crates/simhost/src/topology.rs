//! Shapes of clusters, and which machines each is made of.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::network::named;

/// What a machine is bought for; the service may still choose another role for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    ControlPlane,
    Worker,
    /// Too small for a control-plane node.
    Arbiter,
}

/// A shape of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One node.
    Sno,
    /// Three control-plane nodes.
    Compact,
    /// Three control-plane nodes and workers.
    Ha,
    /// Four control-plane nodes.
    Ha4,
    /// Five control-plane nodes.
    Ha5,
    /// Two control-plane nodes and an arbiter.
    Arbiter,
    /// Two control-plane nodes with fencing. The service has to allow it (`TNF_CLUSTERS_SUPPORT`).
    Tnf,
}

impl Topology {
    /// Every shape.
    pub const ALL: &[Self] =
        &[Self::Sno, Self::Compact, Self::Ha, Self::Ha4, Self::Ha5, Self::Arbiter, Self::Tnf];

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sno => "sno",
            Self::Compact => "compact",
            Self::Ha => "ha",
            Self::Ha4 => "ha4",
            Self::Ha5 => "ha5",
            Self::Arbiter => "arbiter",
            Self::Tnf => "tnf",
        }
    }

    /// Control-plane nodes that it has.
    pub const fn control_plane(self) -> u32 {
        match self {
            Self::Sno => 1,
            Self::Arbiter | Self::Tnf => 2,
            Self::Compact | Self::Ha => 3,
            Self::Ha4 => 4,
            Self::Ha5 => 5,
        }
    }

    /// Hosts of a cluster for which no number was given.
    pub const fn usual_hosts(self) -> u32 {
        match self {
            Self::Ha => 5,
            _ => self.least_hosts(),
        }
    }

    /// Hosts below which the cluster can't be installed.
    pub const fn least_hosts(self) -> u32 {
        match self {
            Self::Arbiter => 3,
            other => other.control_plane(),
        }
    }

    /// Hosts above which it is another shape.
    pub const fn most_hosts(self) -> u32 {
        match self {
            Self::Sno | Self::Compact | Self::Tnf => self.least_hosts(),
            _ => u32::MAX,
        }
    }

    /// What the machine at a place is bought for.
    pub const fn build(self, place: u32) -> Build {
        match self {
            Self::Arbiter if place == 2 => Build::Arbiter,
            _ if place < self.control_plane() => Build::ControlPlane,
            _ => Build::Worker,
        }
    }

    /// Whether the nodes are reached at virtual addresses that the cluster keeps.
    pub const fn has_vips(self) -> bool {
        !matches!(self, Self::Sno)
    }

    /// Fields of the cluster's creation that make it this shape.
    pub fn cluster_fields(self) -> Value {
        match self {
            Self::Sno => json!({"high_availability_mode": "None"}),
            _ => json!({"control_plane_count": self.control_plane()}),
        }
    }

    /// Fields that the user sets on the host at `place` of `hosts`; an empty object where the service finds out by itself.
    pub fn host_fields(self, place: u32, hosts: u32) -> Value {
        match self {
            Self::Tnf => json!({"fencing_credentials": {
                "address": format!("redfish+https://bmc-{place}.example.com/redfish/v1/Systems/1"),
                "username": "admin", "password": "simulated", "certificate_verification": "Disabled",
            }}),
            _ if hosts == self.control_plane() => json!({}),
            _ => json!({"host_role": match self.build(place) {
                Build::ControlPlane => "master",
                Build::Worker => "worker",
                Build::Arbiter => "arbiter",
            }}),
        }
    }

    /// Arbiters that it has.
    pub const fn arbiters(self) -> u32 {
        self.least_hosts() - self.control_plane()
    }
}

named!(Topology);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_fit_the_shape() {
        for topology in Topology::ALL {
            let builds: Vec<_> = (0..topology.usual_hosts()).map(|place| topology.build(place)).collect();
            let count = |build| builds.iter().filter(|other| **other == build).count();
            assert_eq!(count(Build::ControlPlane) as u32, topology.control_plane(), "{topology}");
            assert_eq!(count(Build::Arbiter), usize::from(*topology == Topology::Arbiter), "{topology}");
            assert_eq!(topology.as_str().parse(), Ok(*topology));
        }
        assert!("single".parse::<Topology>().is_err_and(|text| text.contains("sno, compact")));
    }
}
