//! `mtu-valid`: full-sized packets get through to the other hosts. Told only; it keeps no host from being installed.

use assisted_wire::probe_responses::MtuReport;

use super::View;
use crate::model::outcome::Outcome;
use crate::model::topology;
use crate::network::address;
use crate::validation::scope::Report;

const FINE: &str = "MTU is ok";

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    if view.inventory.is_none() {
        return Outcome::awaits_inventory("Missing host inventory");
    }
    if view.host.is_day2() {
        return Outcome::success("Day2 host is not required to be connected to other hosts in the cluster");
    }
    if topology::is_single_node(cluster) {
        return Outcome::suppressed();
    }
    let connectivity = match view.connectivity() {
        Report::Missing => return Outcome::awaits_report("Missing MTU report information"),
        Report::Broken => return Outcome::error("Internal error - failed to parse host connectivity report"),
        Report::Read(connectivity) => connectivity,
    };
    let any = topology::is_user_managed_networking(cluster);
    match connectivity.broken_mtus.iter().find(|report| any || matters(view, report)) {
        Some(report) => Outcome::failure(format!(
            "MTU is broken. Interface: {}, remote IP address: {}",
            report.outgoing_nic, report.remote_ip_address
        ))
        .measured(format!(
            "full-sized packets get lost from {} to {}",
            report.outgoing_nic, report.remote_ip_address
        ))
        .required("full-sized packets get through")
        .remedy("Set the same MTU on the hosts' interfaces and on the switches between them."),
        None => Outcome::success(FINE),
    }
}

/// Whether the traffic of the cluster takes this way: from one address in a machine network to another.
fn matters(view: &View<'_>, report: &MtuReport) -> bool {
    let Ok(remote) = report.remote_ip_address.parse::<std::net::IpAddr>() else { return false };
    let interfaces = view.inventory.and_then(|inventory| inventory.interfaces.as_deref()).unwrap_or_default();
    let own = || {
        let nic = interfaces.iter().filter(|nic| nic.name == report.outgoing_nic);
        nic.flat_map(address::of_interface)
            .map(|own| own.net.addr())
            .filter(|own| own.is_ipv4() == remote.is_ipv4())
    };
    let within = |ip| view.machine_networks.iter().any(|network| network.contains(&ip));
    within(remote) && own().any(within)
}
