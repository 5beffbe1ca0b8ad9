//! Which address each node goes by, where only the hosts themselves say so: clusters of several nodes whose user
//! provides the networking or the load balancer (install-generation §7.5).

use std::collections::BTreeMap;
use std::net::IpAddr;

use assisted_wire::cluster::Cluster;
use assisted_wire::id::HostId;
use assisted_wire::inventory::Inventory;
use ipnet::IpNet;

use super::address::{self, InterfaceAddress};
use super::connectivity::MajorityGroups;
use super::{family, route};
use crate::model::cluster::IpStack;
use crate::model::facts::{Facts, HostFacts};
use crate::model::topology::{is_single_node, is_user_load_balanced, is_user_managed_networking};

/// Combinations that are looked at, at the most: hosts could make up networks for which there would be endless ones.
const STEPS: usize = 100_000;

/// Why the nodes have no addresses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeIpError {
    #[error("it is not known which hosts reach each other")]
    NotConnected,
    #[error("host {0} does not reach all others, or is not reached by them")]
    Outside(String),
    #[error("host {0} has no address that all others reach, in a network with a default route")]
    NoCandidate(String),
    #[error(
        "each choice of addresses has one that lies in a network that another host has and would not use"
    )]
    Collision,
}

/// Whether the nodes' addresses are chosen from what the hosts are.
pub fn is_chosen(cluster: &Cluster) -> bool {
    !is_single_node(cluster) && (is_user_managed_networking(cluster) || is_user_load_balanced(cluster))
}

/// The address of each node, with the length of its network's prefix. The same facts give the same addresses: of those that
/// collide with nothing, the ones on the routes that hosts prefer, the first host's wish before the second's.
///
/// # Errors
///
/// See [`NodeIpError`].
pub fn allocate(facts: &Facts) -> Result<BTreeMap<HostId, IpNet>, NodeIpError> {
    let cluster = facts.cluster.as_ref().map(|record| &record.cluster).ok_or(NodeIpError::NotConnected)?;
    let groups: MajorityGroups =
        serde_json::from_str(&cluster.connectivity_majority_groups).map_err(|_| NodeIpError::NotConnected)?;
    let families = family::of_cluster(cluster);
    let stack =
        if families.contains(&IpStack::V4) || families.is_empty() { IpStack::V4 } else { IpStack::V6 };
    let nodes: Vec<Node> =
        facts.hosts.iter().map(|host| node(host, &groups, stack)).collect::<Result<_, _>>()?;
    let mut search = Search { nodes: &nodes, chosen: Vec::with_capacity(nodes.len()), steps: STEPS };
    if !search.extend() {
        return Err(NodeIpError::Collision);
    }
    let chosen = search.chosen.iter().zip(&facts.hosts);
    Ok(chosen.map(|(address, host)| (host.record.host.id, *address)).collect())
}

/// What a host could go by.
struct Node {
    /// Its addresses that can be chosen, the ones that it prefers first.
    candidates: Vec<IpNet>,
    networks: Vec<IpNet>,
}

fn node(host: &HostFacts, groups: &MajorityGroups, stack: IpStack) -> Result<Node, NodeIpError> {
    let id = host.record.host.id;
    let group = match stack {
        IpStack::V4 => "IPv4",
        IpStack::V6 => "IPv6",
    };
    if !groups.contains(group, id) {
        return Err(NodeIpError::Outside(host.name()));
    }
    let missing = || NodeIpError::NoCandidate(host.name());
    let inventory = host.inventory.as_deref().ok_or_else(missing)?;
    let reached: Vec<IpAddr> =
        groups.connected_addresses(id).iter().filter_map(|text| text.parse().ok()).collect();
    let of_stack =
        || address::of_inventory(inventory).filter(|found| address::stack_of_net(&found.net) == stack);
    let mut candidates: Vec<(i32, IpNet)> = of_stack()
        .filter(|found| reached.contains(&found.net.addr()))
        .filter_map(|found| Some((metric(inventory, &found, stack)?, found.net)))
        .collect();
    candidates.sort_by_key(|(metric, _)| *metric);
    if candidates.is_empty() {
        return Err(missing());
    }
    let candidates = candidates.into_iter().map(|(_, net)| net).collect();
    Ok(Node { candidates, networks: of_stack().map(|found| found.network()).collect() })
}

/// How much the host likes to leave through the interface of an address; the less the better.
fn metric(inventory: &Inventory, found: &InterfaceAddress<'_>, stack: IpStack) -> Option<i32> {
    let routes = route::default_routes(inventory);
    let through = routes
        .filter(|route| route.interface == found.interface && address::stack_of(route.gateway) == stack);
    through.map(|route| route.metric).min()
}

struct Search<'a> {
    nodes: &'a [Node],
    chosen: Vec<IpNet>,
    steps: usize,
}

impl Search<'_> {
    /// Whether addresses for the hosts that are left go with those chosen so far.
    fn extend(&mut self) -> bool {
        let Some(node) = self.nodes.get(self.chosen.len()) else { return true };
        for candidate in &node.candidates {
            let Some(left) = self.steps.checked_sub(1) else { return false };
            self.steps = left;
            let mut earlier = self.chosen.iter().zip(self.nodes);
            let goes = earlier.all(|(address, other)| {
                goes_with(candidate, other, address) && goes_with(address, node, candidate)
            });
            if !goes {
                continue;
            }
            self.chosen.push(*candidate);
            if self.extend() {
                return true;
            }
            self.chosen.pop();
        }
        false
    }
}

/// Whether an address lies in no network of another host but the one that it uses.
fn goes_with(address: &IpNet, other: &Node, used: &IpNet) -> bool {
    let unused = other.networks.iter().filter(|network| **network != used.trunc());
    unused.into_iter().all(|network| !network.contains(&address.addr()))
}

#[cfg(test)]
mod tests {
    use assisted_wire::inventory::Route;
    use serde_json::json;

    use super::*;
    use crate::validation::testing::{facts, host_id, inventory};

    /// Hosts with addresses, each with a default route of a metric through its interface, all of which reach each other.
    fn lab(hosts: &[&[(&str, i32)]]) -> Facts {
        let mut facts = facts(hosts.len());
        let mut connected = BTreeMap::new();
        for (host, addresses) in facts.hosts.iter_mut().zip(hosts) {
            let built = addresses.iter().fold(inventory(), |built, (cidr, _)| built.address(cidr));
            let routes = addresses.iter().enumerate().filter(|(_, (_, metric))| *metric >= 0).map(
                |(number, (cidr, metric))| {
                    let v6 = cidr.contains(':');
                    Route {
                        interface: format!("eth{number}"),
                        gateway: if v6 { "fd00::ffff" } else { "10.255.255.254" }.to_owned(),
                        destination: if v6 { "::" } else { "0.0.0.0" }.to_owned(),
                        family: 2,
                        metric: *metric,
                    }
                },
            );
            let routes = routes.collect();
            host.inventory = Some(built.with(|inventory| inventory.routes = Some(routes)).build().into());
            let ips: Vec<_> = addresses.iter().map(|(cidr, _)| cidr.split('/').next().unwrap()).collect();
            connected.insert(host.record.host.id, ips);
        }
        let ids: Vec<_> = facts.hosts.iter().map(|host| host.record.host.id).collect();
        let groups =
            json!({"majority_groups": {"IPv4": ids, "IPv6": ids}, "l3_connected_addresses": connected});
        facts.with_cluster(|cluster| cluster.connectivity_majority_groups = groups.to_string())
    }

    fn chosen(facts: &Facts) -> Result<Vec<String>, NodeIpError> {
        allocate(facts).map(|all| all.values().map(ToString::to_string).collect())
    }

    #[test]
    fn the_preferred_route_wins() {
        let facts = lab(&[
            &[("10.0.0.1/24", 200), ("10.1.0.1/24", 100)],
            &[("10.0.0.2/24", 100), ("10.1.0.2/24", -1)],
        ]);
        // The second host's 10.1.0.0/24 would hold the first one's wish, unused.
        assert_eq!(chosen(&facts).unwrap(), ["10.0.0.1/24", "10.0.0.2/24"]);
        let facts = lab(&[
            &[("10.0.0.1/24", 200), ("10.1.0.1/24", 100)],
            &[("10.0.0.2/24", 100), ("10.1.0.2/24", 200)],
        ]);
        assert_eq!(chosen(&facts).unwrap(), ["10.1.0.1/24", "10.1.0.2/24"]);
    }

    #[test]
    fn ipv6_only_where_there_is_no_ipv4() {
        let dual: &[(&str, i32)] = &[("fd00::1/64", 10), ("10.0.0.1/24", 100)];
        let both =
            lab(&[dual]).with_networks(&["172.30.0.0/16"], &[("10.128.0.0/14", 23), ("fd01::/48", 64)]);
        assert_eq!(chosen(&both).unwrap(), ["10.0.0.1/24"]);
        let six = lab(&[dual]).with_networks(&["fd02::/112"], &[("fd01::/48", 64)]);
        assert_eq!(chosen(&six).unwrap(), ["fd00::1/64"]);
    }

    #[test]
    fn what_can_t_be_chosen() {
        let one: &[(&str, i32)] = &[("10.0.0.1/24", 100)];
        let unknown =
            lab(&[one]).with_cluster(|cluster| cluster.connectivity_majority_groups = String::new());
        assert_eq!(chosen(&unknown), Err(NodeIpError::NotConnected));
        let mut outside = lab(&[one]);
        outside.hosts[0].record.host.id = host_id(9);
        assert_eq!(chosen(&outside), Err(NodeIpError::Outside("host-1".to_owned())));
        assert_eq!(
            chosen(&lab(&[&[("10.0.0.1/24", -1)]])),
            Err(NodeIpError::NoCandidate("host-1".to_owned()))
        );
        let crossed =
            lab(&[&[("10.0.0.1/24", 1), ("10.1.0.1/24", -1)], &[("10.1.0.2/24", 1), ("10.0.0.2/24", -1)]]);
        assert_eq!(chosen(&crossed), Err(NodeIpError::Collision));
    }

    #[test]
    fn many_hosts_with_many_networks_come_to_an_end() {
        let addresses: Vec<Vec<(String, i32)>> = (1..=20)
            .map(|host| {
                let own = (0..10).map(move |net| (format!("10.{net}.{host}.1/24"), net));
                own.chain([(format!("10.0.{host}.200/16"), -1)]).collect()
            })
            .collect();
        let hosts: Vec<Vec<(&str, i32)>> = addresses
            .iter()
            .map(|own| own.iter().map(|(cidr, metric)| (cidr.as_str(), *metric)).collect())
            .collect();
        let hosts: Vec<&[(&str, i32)]> = hosts.iter().map(Vec::as_slice).collect();
        let found = chosen(&lab(&hosts));
        assert_eq!(found.unwrap().first().map(String::as_str), Some("10.1.1.1/24"));
    }
}
