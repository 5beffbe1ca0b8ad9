//! `belongs-to-majority-group`: the host reaches most of the others, and they reach it.

use assisted_wire::cluster::Cluster;

use super::View;
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::network::{address, family};
use crate::validation::scope::Report;

const CONNECTED: &str = "Host has connectivity to the majority of hosts in the cluster";

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    if view.host.is_day2() {
        return Outcome::success("Day2 host is not required to be connected to other hosts in the cluster");
    }
    if topology::is_single_node(cluster) {
        return Outcome::success(CONNECTED);
    }
    let groups = match view.scope.groups() {
        Report::Missing => {
            return Outcome::awaits_report("Machine Network CIDR or Connectivity Majority Groups missing");
        }
        Report::Broken => return Outcome::error("Parse error for connectivity majority group"),
        Report::Read(groups) => groups,
    };
    let id = view.record().id;
    let by_route = topology::is_user_managed_networking(cluster) || topology::is_user_load_balanced(cluster);
    let connected = if by_route {
        is_routed(cluster, groups.connected_addresses(id))
    } else if view.machine_networks.is_empty() {
        return Outcome::pending("Not enough information to calculate host majority groups")
            .measured("no machine network")
            .required("a machine network")
            .remedy("Set the API or Ingress virtual IPs of the cluster.");
    } else {
        view.machine_networks.iter().all(|network| groups.contains(&network.to_string(), id))
    };
    let minimum = if view.scope.two_nodes_with_fencing { 2 } else { 3 };
    if connected {
        Outcome::success(CONNECTED)
    } else if view.facts.hosts.len() < minimum {
        Outcome::pending("Not enough hosts in cluster to calculate connectivity groups")
            .measured(format!("{} hosts", view.facts.hosts.len()))
            .required(format!("{minimum} hosts"))
            .remedy("Discover more machines.")
    } else {
        Outcome::failure("No connectivity to the majority of hosts in the cluster")
            .measured("not in the largest group of hosts that reach each other")
            .required("connectivity to the majority of hosts")
            .remedy("Check cabling, VLANs and firewalls between this host and the others.")
    }
}

/// Whether every family of the cluster's networks has an address of the host that all others reach.
fn is_routed(cluster: &Cluster, addresses: &[String]) -> bool {
    let families = family::of_cluster(cluster);
    let reached = |stack| {
        let mut addresses = addresses.iter().filter_map(|text| text.parse().ok());
        addresses.any(|ip| address::stack_of(ip) == stack)
    };
    !families.is_empty() && families.into_iter().all(reached)
}
