//! What sort of drive a device is; the first rule that fits wins.

use assisted_wire::inventory::DriveType;

use super::device::{Class, Device};
use crate::Root;

pub(super) fn drive_type(root: &Root, device: &Device) -> DriveType {
    let path = device.bus_path();
    if device.name.starts_with("dasd") {
        dasd(root, device)
    } else if path.contains("-iscsi-") {
        DriveType::ISCSI
    } else if path.contains("-fc-") || path.starts_with("fc-") {
        DriveType::Fc
    } else if device.class == Class::Multipath {
        DriveType::Multipath
    } else if device.class == Class::Lvm {
        DriveType::Lvm
    } else if device.name.starts_with("md") {
        DriveType::Raid
    } else {
        by_name(root, device)
    }
}

/// The kernel's drivers name their devices; only what calls itself a hard disk may turn out to be none.
fn by_name(root: &Root, device: &Device) -> DriveType {
    let is = |prefixes: &[&str]| prefixes.iter().any(|prefix| device.name.starts_with(prefix));
    if is(&["fd"]) {
        DriveType::Fdd
    } else if is(&["sr"]) {
        DriveType::Odd
    } else if is(&["nvme", "mmc"]) {
        DriveType::Ssd
    } else if is(&["sd", "xvd", "hd", "vd"]) {
        let rotational = root.text(&format!("{}/queue/rotational", device.sys()));
        if rotational.as_deref() == Some("1") { DriveType::Hdd } else { DriveType::Ssd }
    } else {
        DriveType::Unknown
    }
}

/// Whether the driver says how the device is attached.
pub(super) fn has_known_controller(device: &Device) -> bool {
    ["sd", "xvd", "hd", "vd", "nvme", "mmc", "sr"].iter().any(|prefix| device.name.starts_with(prefix))
}

/// The channel device above the block device at `sys`.
pub(crate) fn channel_device(root: &Root, sys: &str) -> Option<String> {
    root.resolve(sys)?.rsplitn(3, '/').nth(2).map(str::to_owned)
}

/// The channel device knows the format.
fn dasd(root: &Root, device: &Device) -> DriveType {
    let channel = channel_device(root, &device.sys());
    let read = |name: &str| root.text(&format!("{}/{name}", channel.as_ref()?));
    match read("discipline").as_deref() {
        Some("ECKD") => match read("ese").as_deref() {
            Some("1") => DriveType::EckdEse,
            Some(_) => DriveType::Eckd,
            None => DriveType::Unknown,
        },
        Some("FBA") => DriveType::Fba,
        _ => DriveType::Unknown,
    }
}
