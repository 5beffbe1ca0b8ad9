//! `no-ip-collisions-in-network`: nobody else answers for the host's addresses.

use std::fmt::Write;

use super::View;
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::network::address;
use crate::validation::scope::Report;

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else {
        return Outcome::success("Cluster has not yet been defined, skipping validation.");
    };
    let Some(inventory) = view.inventory else {
        return Outcome::success("Host inventory has not yet been defined, skipping validation.");
    };
    let id = view.record().id;
    if topology::is_day2(cluster) {
        return Outcome::success(format!("Skipping validation for day 2 host {id}"));
    }
    let collisions = match view.scope.collisions() {
        Report::Missing => return Outcome::success("IP collisions have not yet been evaluated"),
        Report::Broken => return Outcome::error("Unable to unmarshall ip collision report for cluster"),
        Report::Read(collisions) => collisions,
    };
    let mut lines = String::new();
    let mut shared = Vec::new();
    for text in inventory.interfaces.iter().flatten().flat_map(address::texts) {
        let Some(own) = address::parse_net(text) else {
            return Outcome::error(format!("inventory of host {id} contains bad CIDR: {text}"));
        };
        let ip = own.addr().to_string();
        if let Some(macs) = collisions.get(&ip) {
            let macs = macs.join(",");
            // Writing to a text can't fail.
            let _ = writeln!(
                lines,
                "Collisions detected for host ID {id}, IP address: {ip} Mac addresses: {macs}"
            );
            shared.push(ip);
        }
    }
    if lines.is_empty() {
        Outcome::success(format!("No IP collisions were detected by host {id}"))
    } else {
        Outcome::failure(lines)
            .measured(format!("shared: {}", shared.join(", ")))
            .required("addresses that nobody else has")
            .remedy("Give one of the machines that share the address another one.")
    }
}
