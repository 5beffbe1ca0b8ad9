//! Ways in which a cluster's nodes are reached, and platforms that it can be made for.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use crate::world::Site;

/// How a cluster of several nodes is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// At virtual addresses that the user chose.
    #[default]
    Vips,
    /// At virtual addresses that a DHCP server gives; OpenShift knows that up to 4.14.
    DhcpVips,
    /// At virtual addresses of IPv4 and IPv6.
    DualStack,
    /// Through a load balancer of the user's.
    UserManaged,
}

impl Network {
    /// Every way.
    pub const ALL: &[Self] = &[Self::Vips, Self::DhcpVips, Self::DualStack, Self::UserManaged];

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vips => "vips",
            Self::DhcpVips => "dhcp-vips",
            Self::DualStack => "dual-stack",
            Self::UserManaged => "user-managed",
        }
    }

    /// Fields of the cluster's creation that make it reachable so.
    pub fn cluster_fields(self, site: Site) -> Value {
        match self {
            Self::Vips => json!({}),
            Self::DhcpVips => json!({"vip_dhcp_allocation": true, "network_type": "OpenShiftSDN"}),
            Self::DualStack => json!({
                "machine_networks": networks(site),
                "cluster_networks": [
                    {"cidr": "10.128.0.0/14", "host_prefix": 23}, {"cidr": "fd01::/48", "host_prefix": 64},
                ],
                "service_networks": [{"cidr": "172.30.0.0/16"}, {"cidr": "fd02::/112"}],
            }),
            Self::UserManaged => json!({"user_managed_networking": true}),
        }
    }
}

/// The machine networks of a site, as a cluster is told them.
pub fn networks(site: Site) -> Value {
    site.cidrs().map(|cidr| json!({ "cidr": cidr })).collect()
}

/// What a cluster is made for, and its machines come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// The one that the service chooses.
    #[default]
    Default,
    None,
    Baremetal,
    Vsphere,
    Nutanix,
    Oci,
    External,
}

impl Platform {
    /// Every platform.
    pub const ALL: &[Self] = &[
        Self::Default,
        Self::None,
        Self::Baremetal,
        Self::Vsphere,
        Self::Nutanix,
        Self::Oci,
        Self::External,
    ];

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::None => "none",
            Self::Baremetal => "baremetal",
            Self::Vsphere => "vsphere",
            Self::Nutanix => "nutanix",
            Self::Oci => "oci",
            Self::External => "external",
        }
    }

    /// Fields of the cluster's creation.
    pub fn cluster_fields(self) -> Value {
        match self {
            Self::Default => json!({}),
            Self::None | Self::Baremetal | Self::Vsphere | Self::Nutanix => {
                json!({"platform": {"type": self.as_str()}})
            }
            Self::Oci => json!({"platform": {
                "type": "external", "external": {"platform_name": "oci", "cloud_controller_manager": "External"},
            }}),
            Self::External => {
                json!({"platform": {"type": "external", "external": {"platform_name": "simulated"}}})
            }
        }
    }

    /// Fields of its infra-env's creation.
    pub fn infra_env_fields(self) -> Value {
        match self {
            // It takes no other image.
            Self::Oci => json!({"image_type": "minimal-iso"}),
            _ => json!({}),
        }
    }

    /// Whether the user has to bring the load balancer.
    pub const fn is_user_managed(self) -> bool {
        matches!(self, Self::None | Self::Oci | Self::External)
    }

    /// Manufacturer of the machines: some platforms take no others.
    pub const fn manufacturer(self) -> &'static str {
        match self {
            Self::Vsphere => "VMware, Inc.",
            Self::Nutanix => "Nutanix",
            Self::Oci => "OracleCloud.com",
            Self::Default | Self::None | Self::Baremetal | Self::External => "Simulated",
        }
    }
}

macro_rules! named {
    ($($type:ty),+) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|known| known.as_str() == text).ok_or_else(|| {
                    let all: Vec<_> = Self::ALL.iter().map(|known| known.as_str()).collect();
                    format!("{text:?} is not one of {}", all.join(", "))
                })
            }
        }
    )+};
}
pub(crate) use named;

named!(Network, Platform);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for network in Network::ALL {
            assert_eq!(network.as_str().parse(), Ok(*network));
        }
        for platform in Platform::ALL {
            assert_eq!(platform.to_string().parse(), Ok(*platform));
        }
        assert!("ipv5".parse::<Network>().is_err_and(|text| text.contains("dual-stack")));
    }
}
