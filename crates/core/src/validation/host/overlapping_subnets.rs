//! `non-overlapping-subnets`: no two interfaces of the host claim the same addresses.

use assisted_wire::inventory::Inventory;

use super::View;
use crate::model::cluster::IpStack;
use crate::model::outcome::Outcome;
use crate::network::address::{self, InterfaceAddress};
use crate::network::family;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(inventory) = view.inventory else { return Outcome::awaits_inventory("Missing inventory") };
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    if let Some(text) = unreadable(inventory) {
        return Outcome::error(format!("Unexpected error: invalid CIDR address: {text}"));
    }
    let families =
        family::distinct(family::service_networks(cluster).chain(family::cluster_networks(cluster)));
    let problem = families.into_iter().find_map(|stack| problem(inventory, stack));
    match problem {
        Some(problem) => Outcome::failure(format!("Address networks are overlapping: {problem}"))
            .measured(problem)
            .required("networks that share no address")
            .remedy("Give each of the host's interfaces a network of its own."),
        None => Outcome::success("Host subnets are not overlapping"),
    }
}

/// An address that is none.
fn unreadable(inventory: &Inventory) -> Option<&str> {
    let mut texts = inventory.interfaces.iter().flatten().flat_map(address::texts);
    texts.find(|text| address::parse_net(text).is_none())
}

/// The first two interfaces whose networks are the same, or overlap.
fn problem(inventory: &Inventory, stack: IpStack) -> Option<String> {
    let relevant = |each: &InterfaceAddress<'_>| {
        address::stack_of_net(&each.net) == stack && !address::is_link_local(each.net.addr())
    };
    let all: Vec<InterfaceAddress<'_>> = address::of_inventory(inventory).filter(relevant).collect();
    let pairs = || all.iter().enumerate().flat_map(|(index, a)| all[..index].iter().map(move |b| (b, a)));
    let mut pairs_of_two = pairs().filter(|(a, b)| a.interface != b.interface);
    let same = pairs_of_two.find(|(a, b)| a.network() == b.network()).map(|(a, b)| {
        let network = a.network();
        format!("Address network {network} appears on multiple interfaces [{}, {}]", a.interface, b.interface)
    });
    let overlapping = || {
        let mut pairs = pairs().filter(|(a, b)| a.interface != b.interface);
        pairs.find(|(a, b)| address::overlap(&a.network(), &b.network())).map(|(a, b)| {
            format!(
                "Address networks {} in interface {} and {} in interface {} overlap",
                a.network(),
                a.interface,
                b.network(),
                b.interface
            )
        })
    };
    same.or_else(overlapping)
}
