//! `non-overlapping-subnets`: no two interfaces of the host claim the same addresses.

use std::collections::HashMap;

use assisted_wire::inventory::Inventory;
use ipnet::IpNet;

use super::View;
use crate::model::cluster::IpStack;
use crate::model::outcome::Outcome;
use crate::network::address::{self, InterfaceAddress};
use crate::network::family;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(inventory) = view.inventory else { return Outcome::awaits_inventory("Missing inventory") };
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    if let Some(text) = unreadable(inventory) {
        // It is the host's own, of any length.
        let text: String = text.chars().take(100).collect();
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
    let Pairs { same, overlapping } = pairs(&all);
    let same = same.map(|(a, b)| {
        let network = a.network();
        format!("Address network {network} appears on multiple interfaces [{}, {}]", a.interface, b.interface)
    });
    let overlapping = || {
        let (a, b) = overlapping?;
        Some(format!(
            "Address networks {} in interface {} and {} in interface {} overlap",
            a.network(),
            a.interface,
            b.network(),
            b.interface
        ))
    };
    same.or_else(overlapping)
}

/// Two addresses of different interfaces, the earlier one first.
type Pair<'a> = (&'a InterfaceAddress<'a>, &'a InterfaceAddress<'a>);

/// The first two addresses of one network, and the first two whose networks overlap.
struct Pairs<'a> {
    same: Option<Pair<'a>>,
    overlapping: Option<Pair<'a>>,
}

fn pairs<'a>(all: &'a [InterfaceAddress<'a>]) -> Pairs<'a> {
    let mut found = Pairs { same: None, overlapping: None };
    if !any_overlap(all) {
        return found;
    }
    let mut seen = SeenNetworks::default();
    for (place, own) in all.iter().enumerate() {
        let pair = |earlier: usize| Some((all.get(earlier)?, own));
        found.overlapping = found.overlapping.or_else(|| seen.overlapping(own).and_then(pair));
        found.same = seen.earlier(own, &own.network()).and_then(pair);
        // The same networks overlap too, so that both are known.
        if found.same.is_some() {
            break;
        }
        seen.add(place, own);
    }
    found
}

/// Whether any two networks overlap, of whatever interfaces: hardly a host has some. Of two networks that overlap one lies within the
/// other, and whatever comes between them in their order lies within it, too; so two overlap that come one after the other.
fn any_overlap(all: &[InterfaceAddress<'_>]) -> bool {
    let mut networks: Vec<IpNet> = all.iter().map(InterfaceAddress::network).collect();
    networks.sort_unstable();
    networks.windows(2).any(|pair| pair[0].contains(&pair[1]))
}

/// Networks that were seen, so that each one is compared with all before it in as many steps as an address has bits.
#[derive(Default)]
struct SeenNetworks<'a> {
    /// By network: the addresses in it.
    networks: HashMap<IpNet, Earliest<'a>>,
    /// By network: the addresses whose networks lie within it.
    within: HashMap<IpNet, Earliest<'a>>,
}

/// The earliest address, and the earliest one of another interface: one of the two is of another interface than any third.
type Earliest<'a> = Vec<(usize, &'a str)>;

impl<'a> SeenNetworks<'a> {
    fn add(&mut self, place: usize, address: &InterfaceAddress<'a>) {
        let add = |earliest: &mut Earliest<'a>| {
            if earliest.len() < 2 && earliest.iter().all(|(_, interface)| *interface != address.interface) {
                earliest.push((place, address.interface));
            }
        };
        add(self.networks.entry(address.network()).or_default());
        wider(address.network()).for_each(|network| add(self.within.entry(network).or_default()));
    }

    /// The earliest address of a network whose interface is another one.
    fn earlier(&self, own: &InterfaceAddress<'_>, network: &IpNet) -> Option<usize> {
        first_of_another(self.networks.get(network)?, own)
    }

    /// The earliest address whose interface is another one, and whose network overlaps with an address's own.
    fn overlapping(&self, own: &InterfaceAddress<'_>) -> Option<usize> {
        let network = own.network();
        let around = wider(network).filter_map(|wider| self.earlier(own, &wider));
        let within = self.within.get(&network).and_then(|within| first_of_another(within, own));
        around.chain(self.earlier(own, &network)).chain(within).min()
    }
}

fn first_of_another(earliest: &Earliest<'_>, own: &InterfaceAddress<'_>) -> Option<usize> {
    earliest.iter().find(|(_, interface)| *interface != own.interface).map(|(place, _)| *place)
}

/// All networks that a network lies in, but itself.
fn wider(network: IpNet) -> impl Iterator<Item = IpNet> {
    std::iter::successors(network.supernet(), IpNet::supernet)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the quick search finds is what comparing each with each finds.
    #[test]
    fn the_first_pair_is_found() {
        let texts = [
            "10.0.0.1/8",
            "10.1.0.1/16",
            "10.1.2.1/24",
            "10.2.0.1/16",
            "10.1.2.9/24",
            "192.168.0.1/32",
            "0.0.0.1/0",
        ];
        let mut seed = 1_u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize % below
        };
        let mut found = 0;
        for _ in 0..2_000 {
            let all: Vec<InterfaceAddress<'_>> = (0..random(6))
                .map(|_| InterfaceAddress {
                    interface: ["a", "b", "c"][random(3)],
                    net: texts[random(texts.len())].parse().unwrap(),
                })
                .collect();
            let slow = |holds: fn(&IpNet, &IpNet) -> bool| {
                let pairs = all.iter().enumerate().flat_map(|(at, a)| all[..at].iter().map(move |b| (b, a)));
                let mut pairs = pairs.filter(|(a, b)| a.interface != b.interface);
                pairs.find(|(a, b)| holds(&a.network(), &b.network()))
            };
            let Pairs { same, overlapping } = pairs(&all);
            assert_eq!(same, slow(|a, b| a == b));
            assert_eq!(overlapping, slow(address::overlap), "{all:?}");
            found += usize::from(overlapping.is_some());
        }
        assert!((500..1_900).contains(&found), "{found}");
    }
}
