//! The disk that root device hints mean (kube-api §6.6.7).

use assisted_crd::metal3::bare_metal_host::RootDeviceHints;
use assisted_wire::inventory::{Disk, DriveType};

/// The id of no disk: the service refuses it, and says so.
const NOT_FOUND: &str = "/dev/not-found-by-hints";

/// The id of the disk that the hints mean: the one that is chosen already, if they mean it too; else a multipath device, else the
/// first.
pub fn choose(hints: &RootDeviceHints, disks: &[Disk], current: &str) -> String {
    let mut meant =
        disks.iter().filter(|disk| disk.installation_eligibility.eligible && matches(hints, disk));
    let Some(first) = meant.clone().next() else { return NOT_FOUND.to_owned() };
    if meant.clone().any(|disk| disk.id == current) {
        return current.to_owned();
    }
    let multipath = meant.find(|disk| disk.drive_type == Some(DriveType::Multipath));
    multipath.unwrap_or(first).id.clone()
}

/// Whether all hints that are given hold.
fn matches(hints: &RootDeviceHints, disk: &Disk) -> bool {
    let unset_or = |hint: &str, holds: bool| hint.is_empty() || holds;
    let name = &hints.device_name;
    unset_or(name, *name == disk.path || *name == disk.by_path)
        && unset_or(&hints.hctl, hints.hctl == disk.hctl)
        && unset_or(&hints.serial_number, hints.serial_number == disk.serial)
        && unset_or(&hints.wwn, hints.wwn == disk.wwn)
        && unset_or(&hints.model, disk.model.contains(&hints.model))
        && unset_or(&hints.vendor, disk.vendor.contains(&hints.vendor))
        && hints.min_size_gigabytes.is_none_or(|least| disk.size_bytes / 1_000_000_000 >= least)
        && hints.rotational.is_none_or(|rotational| rotational == (disk.drive_type == Some(DriveType::Hdd)))
}
