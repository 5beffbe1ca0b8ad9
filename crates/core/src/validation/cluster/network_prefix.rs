//! `network-prefix-valid`: the cluster network has room for the hosts.

use assisted_wire::network::ClusterNetwork;
use ipnet::IpNet;

use super::View;
use super::network_type::effective_network_type;
use crate::model::outcome::Outcome;
use crate::network::address;

/// Bits of the addresses that each host must have at the least: 128 of them.
const LEAST_HOST_BITS: i64 = 7;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let networks = view.cluster.cluster_networks.as_deref().unwrap_or_default();
    if networks.is_empty() {
        return Outcome::pending("The Cluster Network CIDR is undefined.")
            .remedy("Set the cluster's cluster_networks.");
    }
    let kind = effective_network_type(view.cluster);
    let own = ["OVNKubernetes", "OpenShiftSDN"].contains(&kind.as_str());
    let problem = networks.iter().find_map(|network| problem(network, own, view.facts.hosts.len()));
    problem.map_or_else(
        || Outcome::success("The Cluster Network prefix is valid."),
        |text| {
            let given = networks.iter().map(|network| format!("{} /{}", network.cidr.0, network.host_prefix));
            Outcome::failure(text)
                .measured(given.collect::<Vec<_>>().join(", "))
                .required("room for each host, and 128 addresses in it")
                .remedy("Take a larger cluster network, or another host prefix.")
        },
    )
}

fn problem(network: &ClusterNetwork, own: bool, hosts: usize) -> Option<String> {
    let net: IpNet = address::parse_network(&network.cidr.0)?;
    let bits = i64::from(address::bits(&net));
    let prefix = if own {
        network.host_prefix
    } else if bits == 32 {
        25
    } else {
        64
    };
    if prefix < 1 {
        return Some(format!(
            "Invalid Cluster Network prefix: Host prefix, now {prefix}, must be a positive integer."
        ));
    }
    let most = bits - LEAST_HOST_BITS;
    if prefix > most {
        return Some(format!(
            "Host prefix, now {prefix}, must be less than or equal to {most} to allow at least 128 addresses"
        ));
    }
    let needed = if hosts == 1 { 1 } else { hosts.max(4) as u64 };
    let power = |exponent: i64| 1_u64 << exponent.clamp(0, 63);
    let length = i64::from(net.prefix_len());
    if power(prefix - length) < needed {
        let addresses = power(bits - prefix);
        return Some(format!(
            "Cluster network CIDR prefix {length} does not contain enough addresses for {needed} hosts each one with \
             {prefix} prefix ({addresses} addresses)"
        ));
    }
    None
}
