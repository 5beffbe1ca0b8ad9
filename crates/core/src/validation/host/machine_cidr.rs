//! `machine-cidr-defined`, `belongs-to-machine-cidr`: the cluster has a machine network, and the host is in it.

use super::View;
use crate::model::outcome::Outcome;
use crate::model::topology;

pub(super) fn check_defined(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    if topology::is_user_managed_networking(cluster) {
        Outcome::success("No Machine Network CIDR needed: User Managed Networking")
    } else if topology::is_day2(cluster) {
        Outcome::success("No Machine Network CIDR needed: Day2 cluster")
    } else if !view.machine_networks.is_empty() {
        Outcome::success("Machine Network CIDR is defined")
    } else if topology::is_vip_dhcp(cluster) {
        Outcome::failure("Machine Network CIDR is undefined")
            .measured("none")
            .required("a machine network")
            .remedy("Set the cluster's machine network.")
    } else {
        Outcome::failure(
            "Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API or \
             Ingress virtual IPs",
        )
        .measured("none")
        .required("a machine network")
        .remedy("Set the API or Ingress virtual IPs of the cluster.")
    }
}

/// What is said while the one or the other is not known.
pub(super) fn missing(view: &View<'_>) -> Outcome {
    let text = "Missing inventory or machine network CIDR";
    if view.machine_networks.is_empty() {
        Outcome::pending(text)
            .measured("no machine network")
            .required("a machine network")
            .remedy("Set the API or Ingress virtual IPs of the cluster.")
    } else {
        Outcome::awaits_inventory(text)
    }
}

pub(super) fn check_belongs(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    let networks = view.machine_networks;
    let single = topology::is_single_node(cluster);
    if topology::is_user_managed_networking(cluster)
        && !single
        && (!view.record().bootstrap || networks.is_empty())
    {
        return Outcome::success("No machine network CIDR validation needed: User Managed Networking");
    }
    if topology::is_day2(cluster) {
        return Outcome::success("No machine network CIDR validation needed: Day2 cluster");
    }
    if view.inventory.is_none() || networks.is_empty() {
        return missing(view);
    }
    let outcome = if topology::is_user_load_balanced(cluster) {
        if networks.iter().any(|network| view.is_in(network)) {
            Outcome::success("Host belongs to at least one machine network CIDR")
        } else {
            Outcome::failure(
                "Host does not belong to any machine network CIDR. Verify that the host belongs to at least one CIDR \
                 listed under machine networks",
            )
        }
    } else if networks.iter().all(|network| view.is_in(network)) {
        Outcome::success("Host belongs to all machine network CIDRs")
    } else {
        Outcome::failure(
            "Host does not belong to machine network CIDRs. Verify that the host belongs to every CIDR listed under \
             machine networks",
        )
    };
    let texts: Vec<String> = networks.iter().map(ToString::to_string).collect();
    let own: Vec<String> = view
        .inventory
        .into_iter()
        .flat_map(crate::network::address::of_inventory)
        .map(|address| address.net.to_string())
        .collect();
    outcome
        .measured(own.join(", "))
        .required(texts.join(", "))
        .remedy("Connect the host to the machine networks.")
}
