//! Single networks: syntax, size, overlap (validations §5.5).

use assisted_wire::network::ClusterNetwork;

use super::lists::Lists;
use crate::network::address::{overlapping, parse_net};

/// Checks that every network can be read.
pub fn check_syntax(lists: Lists<'_>) -> Result<(), String> {
    for (name, list) in [
        ("Machine Network", lists.machine()),
        ("Service Network", lists.service()),
        ("Cluster Network", lists.cluster()),
    ] {
        for (index, text) in list.iter().enumerate() {
            if text.is_empty() {
                return Err(format!("{name} CIDR cannot be empty (index {index})"));
            }
            if parse_net(text).is_none() {
                return Err(format!(
                    "Could not parse {name} CIDR {text} (index {index}): invalid CIDR address: {text}"
                ));
            }
        }
    }
    Ok(())
}

/// How much of the address a network must leave to its hosts: 7 bits are 128 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinHostBits {
    ClusterOrService,
    Machine,
    MachineOfSingleNode,
    MachineOfUserManagedLoadBalancer,
}

impl MinHostBits {
    const fn bits(self) -> u8 {
        match self {
            Self::ClusterOrService => 7,
            Self::Machine => 4,
            Self::MachineOfSingleNode => 1,
            Self::MachineOfUserManagedLoadBalancer => 2,
        }
    }
}

/// Checks the size of a network.
pub fn check_size(text: &str, room: MinHostBits) -> Result<(), String> {
    let net = parse_net(text)
        .ok_or_else(|| format!("Failed to parse CIDR '{text}': invalid CIDR address: {text}"))?;
    let most = net.max_prefix_len() - room.bits();
    if net.prefix_len() < 1 || net.prefix_len() > most {
        return Err(format!(
            "Address mask size must be between 1 to {most} and must include at least {} addresses",
            1_u32 << room.bits()
        ));
    }
    if net.network().is_unspecified() {
        return Err(format!(
            "The specified CIDR {text} is invalid because its resulting routing prefix matches the unspecified address"
        ));
    }
    if net.addr() == net.network() { Ok(()) } else { Err(format!("{text} is not a valid network CIDR")) }
}

/// Checks that a cluster network has room for the hosts' parts. `hosts`: those that the cluster has.
pub fn check_host_prefix(network: &ClusterNetwork, hosts: usize) -> Result<(), String> {
    let Some(net) = parse_net(&network.cidr.0) else { return Ok(()) };
    let prefix = network.host_prefix;
    if prefix <= 0 {
        return Err(format!(
            "Cluster network host prefix {prefix}: Host prefix, now {prefix}, must be a positive integer"
        ));
    }
    let most = i64::from(net.max_prefix_len()) - 7;
    if prefix > most {
        return Err(format!(
            "Cluster CIDR size: Host prefix, now {prefix}, must be less than or equal to {most} to allow at least 128 \
             addresses"
        ));
    }
    let hosts = if hosts == 1 { 1 } else { hosts.max(4) };
    let parts = prefix - i64::from(net.prefix_len());
    let fits = parts >= 0
        && u32::try_from(parts).is_ok_and(|bits| 1_u128.checked_shl(bits).is_none_or(|n| n >= hosts as u128));
    if fits {
        return Ok(());
    }
    let left = u32::try_from(i64::from(net.max_prefix_len()) - prefix).unwrap_or(0);
    let addresses = 1_u128.checked_shl(left).unwrap_or(u128::MAX);
    Err(format!(
        "Cluster CIDR size: Cluster network CIDR prefix {} does not contain enough addresses for {hosts} hosts each one \
         with {prefix} prefix ({addresses} addresses)",
        net.prefix_len()
    ))
}

/// Checks that networks at the same place of their lists share no addresses.
pub fn check_overlap(lists: Lists<'_>, with_machine_networks: bool) -> Result<(), String> {
    let (machine, service, cluster) = (lists.machine(), lists.service(), lists.cluster());
    let pairs = [
        ("ServiceNetworkCidr and ClusterNetworkCidr", &service, &cluster, true),
        ("MachineNetworkCIDR and ServiceNetworkCIDR", &machine, &service, with_machine_networks),
        ("MachineNetworkCIDR and ClusterNetworkCidr", &machine, &cluster, with_machine_networks),
    ];
    for (names, left, right, checked) in pairs {
        let both = left.iter().zip(right.iter());
        if let Some((a, b)) = both.into_iter().find(|(a, b)| checked && overlapping(a, b)) {
            return Err(format!("{names}: CIDRS {a} and {b} overlap"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assisted_wire::network::Subnet;

    use super::*;

    #[test]
    fn sizes() {
        let check = |text| check_size(text, MinHostBits::ClusterOrService);
        assert_eq!(check("10.128.0.0/14"), Ok(()));
        assert_eq!(check("fd01::/48"), Ok(()));
        let size = "Address mask size must be between 1 to 25 and must include at least 128 addresses";
        for (text, problem) in [
            ("10.128.0.0/26", size),
            ("10.128.0.0/0", size),
            ("10.128.0.1/16", "10.128.0.1/16 is not a valid network CIDR"),
            (
                "0.0.0.0/16",
                "The specified CIDR 0.0.0.0/16 is invalid because its resulting routing prefix matches the unspecified address",
            ),
            ("x", "Failed to parse CIDR 'x': invalid CIDR address: x"),
        ] {
            assert_eq!(check(text), Err(problem.to_owned()));
        }
        assert_eq!(check_size("10.0.0.0/31", MinHostBits::MachineOfSingleNode), Ok(()));
        assert_eq!(
            check_size("10.0.0.0/31", MinHostBits::Machine),
            Err("Address mask size must be between 1 to 28 and must include at least 16 addresses".to_owned())
        );
    }

    #[test]
    fn host_prefixes() {
        let check = |cidr: &str, host_prefix, hosts| {
            check_host_prefix(
                &ClusterNetwork { cluster_id: None, cidr: Subnet(cidr.to_owned()), host_prefix },
                hosts,
            )
        };
        assert_eq!(check("10.128.0.0/14", 23, 500), Ok(()));
        assert_eq!(check("fd01::/48", 64, 5000), Ok(()));
        assert_eq!(check("10.128.0.0/23", 23, 1), Ok(()));
        for (cidr, prefix, hosts, problem) in [
            (
                "10.128.0.0/14",
                0,
                3,
                "Cluster network host prefix 0: Host prefix, now 0, must be a positive integer",
            ),
            (
                "10.128.0.0/14",
                26,
                3,
                "Cluster CIDR size: Host prefix, now 26, must be less than or equal to 25 to allow at least 128 addresses",
            ),
            (
                "10.128.0.0/22",
                23,
                3,
                "Cluster CIDR size: Cluster network CIDR prefix 22 does not contain enough addresses for 4 hosts each one with 23 prefix (512 addresses)",
            ),
            (
                "10.128.0.0/24",
                23,
                1,
                "Cluster CIDR size: Cluster network CIDR prefix 24 does not contain enough addresses for 1 hosts each one with 23 prefix (512 addresses)",
            ),
        ] {
            assert_eq!(check(cidr, prefix, hosts), Err(problem.to_owned()));
        }
    }
}
