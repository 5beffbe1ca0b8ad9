//! `networks-same-address-families`: machine, cluster and service networks are of the same families, in one order.

use super::View;
use super::cidr_overlap::undefined;
use crate::model::outcome::Outcome;
use crate::network::family::{self, families};

/// The networks, as they are given.
fn networks_of(view: &View<'_>) -> String {
    let join = |networks: Vec<&str>| networks.join(", ");
    format!(
        "machine {}; cluster {}; service {}",
        join(family::machine_networks(view.cluster).collect()),
        join(family::cluster_networks(view.cluster).collect()),
        join(family::service_networks(view.cluster).collect())
    )
}

pub(super) fn check(view: &View<'_>) -> Outcome {
    let needed = view.needs_machine_network();
    let empty = |mut networks: Box<dyn Iterator<Item = &str> + '_>| networks.next().is_none();
    if empty(Box::new(family::cluster_networks(view.cluster)))
        || empty(Box::new(family::service_networks(view.cluster)))
        || (needed && !view.is_machine_cidr_defined())
    {
        return undefined(needed);
    }
    let (Some(service), Some(mut cluster)) =
        (families(family::service_networks(view.cluster)), families(family::cluster_networks(view.cluster)))
    else {
        return Outcome::error("Bad CIDR(s) appears in one of the networks")
            .measured(networks_of(view))
            .remedy("Set networks in CIDR notation.");
    };
    let remedy = "Give every list of networks the same families, in the same order.";
    cluster.dedup();
    if service != cluster {
        return Outcome::failure(
            "Address families of networks (ServiceNetworks, ClusterNetworks) are not the same.",
        )
        .measured(networks_of(view))
        .required("the same families in the same order")
        .remedy(remedy);
    }
    if needed {
        let Some(mut machine) = families(family::machine_networks(view.cluster)) else {
            let id = view.cluster.id;
            return Outcome::error(format!("Error getting machine address families for cluster {id}"));
        };
        machine.dedup();
        if machine != service {
            return Outcome::failure(
                "Address families of networks (MachineNetworks, ServiceNetworks, ClusterNetworks) are not the same.",
            )
            .measured(networks_of(view))
        .required("the same families in the same order")
        .remedy(remedy);
        }
    }
    Outcome::success("Same address families for all networks.")
}
