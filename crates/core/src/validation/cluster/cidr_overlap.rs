//! `no-cidrs-overlapping`: machine, cluster and service networks are apart.

use super::View;
use crate::model::outcome::Outcome;
use crate::network::{address, family};

const SET_ALL: &str = "Set the cluster's networks; the machine network follows from the virtual IPs.";
const SET_TWO: &str = "Set the cluster's cluster_networks and service_networks.";

/// What is said while a network is missing.
pub(super) fn undefined(machine: bool) -> Outcome {
    Outcome::pending(if machine {
        "At least one of the CIDRs (Machine Network, Cluster Network, Service Network) is undefined."
    } else {
        "At least one of the CIDRs (Cluster Network, Service Network) is undefined."
    })
    .remedy(if machine { SET_ALL } else { SET_TWO })
}

pub(super) fn check(view: &View<'_>) -> Outcome {
    let cluster: Vec<&str> = family::cluster_networks(view.cluster).collect();
    let service: Vec<&str> = family::service_networks(view.cluster).collect();
    let machine: Vec<&str> = family::machine_networks(view.cluster).collect();
    let needed = view.needs_machine_network();
    if cluster.is_empty() || service.is_empty() || (needed && !view.is_machine_cidr_defined()) {
        return undefined(!view.user_managed);
    }
    if cluster.len() != service.len() {
        return Outcome::error("A mismatch between the number of Cluster and Service networks")
            .measured(format!("{} cluster networks, {} service networks", cluster.len(), service.len()))
            .required("as many of the one as of the other")
            .remedy("Change the cluster's cluster or service networks.");
    }
    for (index, (cluster, service)) in cluster.iter().zip(&service).enumerate() {
        let machine = machine.get(index).or(machine.last()).filter(|_| needed);
        let pairs = [
            ("MachineNetworkCIDR and ServiceNetworkCIDR", machine, Some(service)),
            ("MachineNetworkCIDR and ClusterNetworkCidr", machine, Some(cluster)),
            ("ServiceNetworkCidr and ClusterNetworkCidr", Some(service), Some(cluster)),
        ];
        for (pair, a, b) in pairs {
            let (Some(a), Some(b)) = (a, b) else { continue };
            // What is no network is refused elsewhere.
            if address::overlapping(a, b) {
                return Outcome::failure(format!("CIDRS Overlapping: {pair}: CIDRS {a} and {b} overlap."))
                    .measured(format!("{a}, {b}"))
                    .required("networks that share no address")
                    .remedy("Change the cluster's cluster or service network.");
            }
        }
    }
    Outcome::success("No CIDRS are overlapping.")
}
