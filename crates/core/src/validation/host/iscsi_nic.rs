//! `no-iscsi-nic-belongs-to-machine-cidr`: the way to an iSCSI installation disk is not the one that the cluster's own
//! traffic takes (validations §2.7).

use assisted_wire::inventory::{Disk, DriveType, Interface, Inventory};

use super::View;
use crate::disk::paths;
use crate::model::outcome::{Outcome, Status};
use crate::model::{disk, topology};
use crate::network::address;

const IN_MACHINE_NETWORK: &str =
    "Network interface connected to iSCSI disk cannot belong to machine network CIDRs";

pub(super) fn check(view: &View<'_>) -> Outcome {
    let Some(cluster) = view.cluster else { return Outcome::suppressed() };
    let user_managed = topology::is_user_managed_networking(cluster) && !topology::is_single_node(cluster);
    if user_managed || cluster.imported || topology::is_day2(cluster) {
        return Outcome::suppressed();
    }
    let chosen = disk::chosen(view.record());
    if chosen.is_empty() {
        return Outcome::suppressed();
    }
    let Some(inventory) = view.inventory.filter(|_| !view.machine_networks.is_empty()) else {
        return super::machine_cidr::missing(view);
    };
    let Some(disk) = disk::find(inventory, chosen) else { return Outcome::suppressed() };
    match disk.drive_type {
        Some(DriveType::ISCSI) => of_disk(view, disk, inventory),
        Some(DriveType::Multipath) => of_multipath(view, disk, inventory),
        _ => Outcome::suppressed(),
    }
}

fn of_disk(view: &View<'_>, disk: &Disk, inventory: &Inventory) -> Outcome {
    let Some(iscsi) = &disk.iscsi else { return Outcome::error("iSCSI disk is missing host IP address") };
    let has_ip = |nic: &&Interface| {
        let ip = iscsi.host_ip_address.parse::<std::net::IpAddr>();
        ip.is_ok_and(|ip| address::of_interface(nic).any(|own| own.net.addr() == ip))
    };
    let Some(nic) = inventory.interfaces.iter().flatten().find(has_ip) else {
        return Outcome::error("Cannot find network interface associated to iSCSI host IP address");
    };
    let within = |own: address::InterfaceAddress<'_>| {
        view.machine_networks.iter().any(|network| network.contains(&own.net.addr()))
    };
    if address::of_interface(nic).any(within) {
        Outcome::failure(IN_MACHINE_NETWORK)
            .measured(format!("{} is in a machine network", nic.name))
            .required("an interface outside of the machine networks")
            .remedy("Connect the iSCSI target through a network of its own.")
    } else {
        Outcome::success("Network interface connected to iSCSI disk does not belong to machine network CIDRs")
    }
}

fn of_multipath(view: &View<'_>, device: &Disk, inventory: &Inventory) -> Outcome {
    let mut last = Outcome::success("");
    let mut failed = Vec::new();
    for path in paths(device, inventory).filter(|path| path.drive_type == Some(DriveType::ISCSI)) {
        last = of_disk(view, path, inventory);
        match last.status {
            Status::Error => return last,
            Status::Failure => failed.push(path.name.as_str()),
            _ => {}
        }
    }
    if failed.is_empty() {
        return last;
    }
    Outcome::failure(format!(
        "Installation on multipath device is not possible due to errors on at least one iSCSI disk: \
         Network interface connected to iSCSI disk ({}) cannot belong to machine network CIDRs",
        failed.join(", ")
    ))
    .measured(format!("in a machine network: the ways to {}", failed.join(", ")))
    .required("interfaces outside of the machine networks")
    .remedy("Connect the iSCSI targets through a network of their own.")
}
