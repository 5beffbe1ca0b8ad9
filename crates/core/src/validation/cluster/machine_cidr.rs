//! `machine-cidr-defined`, `machine-cidr-equals-to-calculated-cidr`: the machine network is there, and is the one that
//! the VIPs and the hosts call for.

use super::View;
use crate::model::outcome::Outcome;
use crate::model::refusal::collected;
use crate::network::{address, family, machine};

const SET_VIPS: &str = "Set the API and Ingress virtual IPs of the cluster.";
const SET_NETWORK: &str = "Set the cluster's machine network.";

/// What is said while no host has reported its inventory.
pub(super) fn undiscovered() -> Outcome {
    Outcome::pending("Hosts have not been discovered yet")
        .measured("no host")
        .required("a host with an inventory")
        .remedy("Boot machines with the discovery image.")
}

pub(super) fn check_defined(view: &View<'_>) -> Outcome {
    if view.user_managed && !view.single_node {
        Outcome::success("No Machine Network CIDR needed: User Managed Networking")
    } else if family::machine_networks(view.cluster).any(|network| !network.is_empty()) {
        Outcome::success("The Machine Network CIDR is defined.")
    } else if !view.has_inventories() {
        undiscovered()
    } else if view.dhcp {
        Outcome::failure(
            "The Machine Network CIDR is undefined; setting the Machine Network CIDR initiates the VIPs DHCP lease \
             allocation.",
        )
        .measured("none")
        .required("a machine network")
        .remedy(SET_NETWORK)
    } else if view.single_node {
        Outcome::failure(
            "The Machine Network CIDR is undefined; Setting Machine Network CIDR is required for single node cluster",
        )
        .measured("none")
        .required("a machine network")
        .remedy(SET_NETWORK)
    } else {
        Outcome::failure(
            "The Machine Network CIDR is undefined; the Machine Network CIDR can be defined by setting either the API \
             or Ingress virtual IPs.",
        )
        .measured("none")
        .required("a machine network")
        .remedy(SET_VIPS)
    }
}

pub(super) fn check_calculated(view: &View<'_>) -> Outcome {
    if view.user_managed {
        return Outcome::success("The Cluster Machine CIDR is not required: User Managed Networking");
    }
    if view.user_load_balanced {
        return Outcome::success(
            "Calculating machine network CIDR is not enabled: User Managed Load Balancer",
        );
    }
    let api = view.cluster.api_vips.as_deref().unwrap_or_default();
    if api.is_empty() && view.cluster.ingress_vips.as_deref().unwrap_or_default().is_empty() {
        return Outcome::pending(
            "The Machine Network CIDR, API virtual IPs, or Ingress virtual IPs are undefined.",
        )
        .measured("none")
        .required("a machine network")
        .remedy(SET_VIPS);
    }
    if !view.has_inventories() {
        return undiscovered();
    }
    let networks: Vec<String> =
        family::machine_networks(view.cluster).map(address::canonical_network).collect();
    let mut errors = Vec::new();
    for (index, vip) in api.iter().enumerate() {
        let own = networks.get(index).map_or("", String::as_str);
        match machine::required_network_of_vip(&vip.ip.0, view.inventories()) {
            Err(error) => errors.push(error.to_string()),
            Ok(found) if !networks.is_empty() && found.to_string() != own => {
                errors.push(format!(
                    "The Cluster Machine CIDR {own} is different than the calculated CIDR {found}."
                ));
            }
            Ok(_) => {}
        }
    }
    let Some(errors) = collected(&errors) else {
        return Outcome::success("The Cluster Machine CIDR is equivalent to the calculated CIDR.");
    };
    Outcome::failure(errors)
        .measured(networks.join(", "))
        .required("the network of the virtual IPs, which hosts are in")
        .remedy("Choose virtual IPs in a network that the hosts are in.")
}
