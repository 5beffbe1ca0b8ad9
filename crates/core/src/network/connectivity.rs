//! Which hosts reach each other: the largest groups in which everyone does (validations §5.4).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use assisted_wire::id::HostId;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::address::{self, of_inventory};
use super::majority_group::{Graph, largest_clique};
use crate::model::cluster::IpStack;
use crate::model::connectivity_report::{ParsedConnectivity, Remote};
use crate::model::facts::Facts;
use crate::model::report::ReportKind;
use crate::model::topology;

/// The groups of a cluster, as they are stored with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MajorityGroups {
    /// By network, and by family (`IPv4`, `IPv6`): the hosts of the largest group, sorted; empty when it is too small.
    #[serde(default)]
    majority_groups: BTreeMap<String, Vec<HostId>>,
    /// By host: its addresses that all others reach, sorted.
    #[serde(default)]
    l3_connected_addresses: BTreeMap<HostId, Vec<String>>,
}

impl MajorityGroups {
    /// Whether a host is in the group of a network in canonical form, or of a family.
    pub fn contains(&self, group: &str, host: HostId) -> bool {
        self.majority_groups.get(group).is_some_and(|hosts| hosts.binary_search(&host).is_ok())
    }

    /// Addresses of a host that all other hosts reach.
    pub fn connected_addresses(&self, host: HostId) -> &[String] {
        self.l3_connected_addresses.get(&host).map(Vec::as_slice).unwrap_or_default()
    }
}

/// What one host found out about another of the cluster.
struct Link<'a> {
    to: usize,
    remote: &'a Remote,
}

/// Steps that the search for the groups of one cluster may take.
const STEPS: usize = 40_000;

/// Raised when groups are worked out another way, so that stored ones are made anew.
const EDITION: u8 = 1;

/// Fingerprint of what the groups and collisions of a cluster are worked out from: who is there, with which addresses,
/// and who answered whom.
pub fn print(facts: &Facts) -> u64 {
    let mut hasher = DefaultHasher::new();
    (EDITION, is_fenced(facts)).hash(&mut hasher);
    for host in &facts.hosts {
        let reported = !host.report(ReportKind::Connectivity).is_empty();
        (host.record.host.id, reported, host.connectivity.as_ref().map(|connectivity| connectivity.print))
            .hash(&mut hasher);
        for interface in host.inventory.iter().flat_map(|inventory| inventory.interfaces.iter().flatten()) {
            address::texts(interface).for_each(|text| text.hash(&mut hasher));
        }
    }
    hasher.finish()
}

fn is_fenced(facts: &Facts) -> bool {
    let record = facts.cluster.as_ref();
    record.is_some_and(|record| topology::is_two_nodes_with_fencing(&record.cluster, &facts.hosts))
}

/// The groups of a cluster's hosts, as the text of `connectivity_majority_groups`.
pub fn majority_groups(facts: &Facts) -> String {
    // Maps of texts always serialise.
    serde_json::to_string(&groups(facts)).unwrap_or_default()
}

/// The groups of a cluster's hosts.
pub fn groups(facts: &Facts) -> MajorityGroups {
    counted_groups(facts).0
}

/// The same, with the steps that the search for them took.
fn counted_groups(facts: &Facts) -> (MajorityGroups, usize) {
    let mut hosts: Vec<_> = facts.hosts.iter().collect();
    hosts.sort_by_key(|host| host.record.host.id);
    let ids: Vec<HostId> = hosts.iter().map(|host| host.record.host.id).collect();
    let links: Vec<Vec<Link<'_>>> = hosts
        .iter()
        .map(|host| {
            host.connectivity.as_ref().map_or_else(Vec::new, |connectivity| links(connectivity, &ids))
        })
        .collect();

    let mut members: BTreeMap<IpNet, BTreeSet<usize>> = BTreeMap::new();
    let mut own: Vec<Vec<IpAddr>> = vec![Vec::new(); hosts.len()];
    for (place, host) in hosts.iter().enumerate() {
        for address in host.inventory.iter().flat_map(|inventory| of_inventory(inventory)) {
            members.entry(address.network()).or_default().insert(place);
            own[place].push(address.net.addr());
        }
    }

    let minimum = if is_fenced(facts) { 2 } else { 3 };
    // Hosts can make up networks: all graphs share the steps, but each gets enough for a network that is as it should be.
    let steps = (STEPS / (members.len() + 2)).max(2 * ids.len());
    let mut taken = 0;
    let mut of_graph = |graph: &Graph| {
        let mut left = steps;
        let group = largest_clique(graph, &mut left);
        taken += steps - left;
        if group.len() < minimum { Vec::new() } else { group.into_iter().map(|place| ids[place]).collect() }
    };
    // A group takes that many hosts with an address in the network.
    let large = members.iter().filter(|(_, members)| members.len() >= minimum).map(|(network, _)| *network);
    let mut edges = link_edges(&links, large);
    let mut majority_groups = BTreeMap::new();
    for network in members.into_keys() {
        let group = edges.remove(&network).map_or_else(Vec::new, |edges| {
            of_graph(&Graph::mutual(ids.len(), |graph| {
                edges.into_iter().for_each(|(from, to)| graph.add(from, to));
            }))
        });
        majority_groups.insert(network.to_string(), group);
    }
    for (stack, name) in [(IpStack::V4, "IPv4"), (IpStack::V6, "IPv6")] {
        majority_groups.insert(name.to_owned(), of_graph(&route_graph(&links, &own, stack)));
    }
    let groups =
        MajorityGroups { majority_groups, l3_connected_addresses: connected_addresses(&links, &ids) };
    (groups, taken)
}

/// What a host found out about the hosts of the cluster, whose ids are sorted as those of its report are.
fn links<'a>(connectivity: &'a ParsedConnectivity, ids: &[HostId]) -> Vec<Link<'a>> {
    let mut known = ids.iter().enumerate().peekable();
    let mut place = |wanted: HostId| {
        while known.next_if(|(_, id)| **id < wanted).is_some() {}
        known.peek().filter(|(_, id)| **id == wanted).map(|(place, _)| *place)
    };
    connectivity.remotes.iter().filter_map(|remote| Some(Link { to: place(remote.id)?, remote })).collect()
}

/// The network that an address was in, of one length of prefixes.
struct Lookup {
    is_ipv6: bool,
    length: u8,
    /// The last one, and its place among the networks if it is one of them.
    last: Option<(IpNet, Option<usize>)>,
}

impl Lookup {
    /// The place of the network that an address is in.
    fn place(&mut self, ip: IpAddr, places: &HashMap<IpNet, usize>) -> Option<usize> {
        let network = IpNet::new(ip, self.length).ok()?.trunc();
        match self.last {
            Some((known, place)) if known == network => place,
            _ => self.last.insert((network, places.get(&network).copied())).1,
        }
    }
}

/// Who reaches whom with an address in each of some networks. Each address is looked up once for each length that the
/// networks' prefixes have, however many networks there are, and not at all in the network of the address before it.
fn link_edges(
    links: &[Vec<Link<'_>>],
    networks: impl Iterator<Item = IpNet>,
) -> HashMap<IpNet, Vec<(usize, usize)>> {
    let networks: Vec<IpNet> = networks.collect();
    let places: HashMap<IpNet, usize> =
        networks.iter().enumerate().map(|(at, network)| (*network, at)).collect();
    let mut edges: Vec<Vec<(usize, usize)>> = vec![Vec::new(); networks.len()];
    let lengths: BTreeSet<(bool, u8)> =
        networks.iter().map(|network| (network.addr().is_ipv6(), network.prefix_len())).collect();
    let mut lookups: Vec<Lookup> =
        lengths.into_iter().map(|(is_ipv6, length)| Lookup { is_ipv6, length, last: None }).collect();
    for (from, link) in
        links.iter().enumerate().flat_map(|(from, links)| links.iter().map(move |link| (from, link)))
    {
        // Neighbour discovery is not always seen on the link, so routed IPv6 answers count too.
        let routed = link.remote.routed.iter().filter(|ip| ip.is_ipv6());
        for ip in link.remote.on_link.iter().chain(routed) {
            for lookup in lookups.iter_mut().filter(|each| each.is_ipv6 == ip.is_ipv6()) {
                let place = lookup.place(*ip, &places);
                if let Some(edges) = place.and_then(|place| edges.get_mut(place))
                    && edges.last() != Some(&(from, link.to))
                {
                    edges.push((from, link.to));
                }
            }
        }
    }
    networks.into_iter().zip(edges).collect()
}

/// Who reaches all addresses of a family of whom, both ways.
fn route_graph(links: &[Vec<Link<'_>>], own: &[Vec<IpAddr>], stack: IpStack) -> Graph {
    Graph::mutual(links.len(), |edges| {
        for (from, link) in
            links.iter().enumerate().flat_map(|(from, links)| links.iter().map(move |link| (from, link)))
        {
            let mut wanted = own[link.to].iter().filter(|ip| address::stack_of(**ip) == stack).peekable();
            if wanted.peek().is_some() && wanted.all(|ip| link.remote.routed.binary_search(ip).is_ok()) {
                edges.add(from, link.to);
            }
        }
    })
}

/// Addresses that all others reach.
fn connected_addresses(links: &[Vec<Link<'_>>], ids: &[HostId]) -> BTreeMap<HostId, Vec<String>> {
    /// The addresses of a host that all who reported on it so far reach.
    #[derive(Clone, Default)]
    struct ReachedAddresses {
        by: usize,
        addresses: Vec<IpAddr>,
    }
    let mut reached = vec![ReachedAddresses::default(); ids.len()];
    for (from, link) in
        links.iter().enumerate().flat_map(|(from, links)| links.iter().map(move |link| (from, link)))
    {
        if link.to == from {
            continue;
        }
        let ReachedAddresses { by, addresses } = &mut reached[link.to];
        match by {
            0 => addresses.clone_from(&link.remote.routed),
            _ => addresses.retain(|ip| link.remote.routed.binary_search(ip).is_ok()),
        }
        *by += 1;
    }
    let by_all = reached
        .into_iter()
        .zip(ids)
        .filter(|(reached, _)| reached.by + 1 == ids.len() && !reached.addresses.is_empty());
    let texts = |addresses: Vec<IpAddr>| {
        let mut texts: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        texts.sort_unstable();
        texts
    };
    by_all.map(|(reached, id)| (*id, texts(reached.addresses))).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assisted_wire::inventory::Interface;

    use super::*;
    use crate::validation::testing;

    /// Hosts with one address each, `10.0.0.<n>/24`, and reports of who reached whom on the link and over routes.
    fn cluster(reached: &[&[u8]]) -> Facts {
        let mut facts = testing::facts(reached.len());
        for (index, others) in reached.iter().enumerate() {
            let remote = |other: &u8| {
                let (id, ip) = (testing::host_id(usize::from(*other)), format!("10.0.0.{other}"));
                serde_json::json!({
                    "host_id": id,
                    "l2_connectivity": [{"successful": true, "remote_ip_address": ip}],
                    "l3_connectivity": [{"successful": true, "remote_ip_address": ip}],
                })
            };
            let report = serde_json::json!({"remote_hosts": others.iter().map(remote).collect::<Vec<_>>()});
            let host = &mut facts.hosts[index];
            host.inventory =
                Some(Arc::new(testing::inventory().address(&format!("10.0.0.{}/24", index + 1)).build()));
            host.put_report(ReportKind::Connectivity, report.to_string().into());
        }
        facts
    }

    fn members(facts: &Facts, group: &str) -> Vec<usize> {
        let groups = groups(facts);
        (1..=facts.hosts.len()).filter(|n| groups.contains(group, testing::host_id(*n))).collect()
    }

    #[test]
    fn the_largest_full_mesh() {
        let facts = cluster(&[&[2, 3, 4], &[1, 3], &[1, 2, 4], &[1, 3], &[]]);
        // 1-2-3 and 1-3-4 are both meshes of three; the one with the lower ids wins.
        assert_eq!(members(&facts, "10.0.0.0/24"), [1, 2, 3]);
        assert_eq!(members(&facts, "IPv4"), [1, 2, 3]);
        assert_eq!(members(&facts, "IPv6"), Vec::<usize>::new());
    }

    /// As many addresses as are kept of a host, each in a network of its own: three hosts make up the same ones.
    #[test]
    fn networks_that_hosts_make_up_share_the_steps() {
        const NETWORKS: usize = 2_048;
        let mut facts = testing::facts(3);
        for number in 1..=3 {
            let address = |host: usize, network: usize| format!("fd00:0:0:{network:x}::{host}");
            let addresses = (0..NETWORKS).map(|network| format!("{}/64", address(number, network))).collect();
            let remote = |host: usize| {
                // No more are read of one kind than half of them.
                let found = |networks: std::ops::Range<usize>| -> Vec<_> {
                    let found = |network| serde_json::json!({"successful": true, "remote_ip_address": address(host, network)});
                    networks.map(found).collect()
                };
                serde_json::json!({
                    "host_id": testing::host_id(host),
                    "l2_connectivity": found(0..NETWORKS / 2),
                    "l3_connectivity": found(NETWORKS / 2..NETWORKS),
                })
            };
            let others: Vec<_> = (1..=3).filter(|other| *other != number).map(remote).collect();
            let report = serde_json::json!({"remote_hosts": others});
            let host = &mut facts.hosts[number - 1];
            let interface = Interface { ipv6_addresses: Some(addresses), ..Interface::default() };
            let inventory =
                testing::inventory().with(|inventory| inventory.interfaces = Some(vec![interface]));
            host.inventory = Some(Arc::new(inventory.build()));
            host.put_report(ReportKind::Connectivity, report.to_string().into());
        }
        let (groups, taken) = counted_groups(&facts);
        for network in [0, NETWORKS / 2, NETWORKS - 1] {
            let name =
                IpNet::new(format!("fd00:0:0:{network:x}::").parse().unwrap(), 64).unwrap().to_string();
            assert!((1..=3).all(|number| groups.contains(&name, testing::host_id(number))), "{name}");
        }
        // A step for each host of each network, and none for what is no group.
        assert_eq!(taken, 3 * NETWORKS);
    }

    #[test]
    fn one_way_links_do_not_count() {
        let facts = cluster(&[&[2, 3], &[1, 3], &[1]]);
        assert_eq!(members(&facts, "10.0.0.0/24"), Vec::<usize>::new());
    }

    #[test]
    fn two_fenced_nodes_are_enough() {
        let mut facts = cluster(&[&[2], &[1]]);
        assert_eq!(members(&facts, "10.0.0.0/24"), Vec::<usize>::new());
        facts.cluster.as_mut().unwrap().cluster.control_plane_count = 2;
        for host in &mut facts.hosts {
            host.record.host.role = Some(assisted_wire::host::HostRole::Master);
            host.record.host.fencing_credentials = "{}".to_owned();
        }
        assert_eq!(members(&facts, "10.0.0.0/24"), [1, 2]);
    }

    #[test]
    fn stored_text() {
        let facts = cluster(&[&[2, 3], &[1, 3], &[1, 2]]);
        let (a, b, c) = (testing::host_id(1), testing::host_id(2), testing::host_id(3));
        let text = majority_groups(&facts);
        assert_eq!(
            text,
            format!(
                r#"{{"majority_groups":{{"10.0.0.0/24":["{a}","{b}","{c}"],"IPv4":["{a}","{b}","{c}"],"IPv6":[]}},"#
            ) + &format!(
                r#""l3_connected_addresses":{{"{a}":["10.0.0.1"],"{b}":["10.0.0.2"],"{c}":["10.0.0.3"]}}}}"#
            )
        );
        assert_eq!(serde_json::from_str::<MajorityGroups>(&text).unwrap(), groups(&facts));
    }

    #[test]
    fn reports_that_make_no_sense_are_passed_over() {
        let mut facts = cluster(&[&[2, 3], &[1, 3], &[1, 2, 3]]);
        facts.hosts[0].put_report(ReportKind::Connectivity, "nonsense".into());
        assert_eq!(members(&facts, "IPv4"), Vec::<usize>::new());
        assert!(groups(&facts).connected_addresses(testing::host_id(1)).contains(&"10.0.0.1".to_owned()));
    }
}
