//! Disks: which block devices are reported, with what properties, and what speaks against each (agent-protocol §3.7).

mod device;
mod drive_type;
mod eligibility;
mod iscsi;

use std::collections::HashMap;

use assisted_wire::inventory::{BootDeviceType, Disk, DiskInstallationEligibility, DriveType, Iscsi};

use crate::Root;
use crate::mounts::Mounts;
use device::{Class, Device};

const BY_ID: &str = "/dev/disk/by-id";
/// An appliance's disk is reported with this size, whatever it has: 100 GiB.
const APPLIANCE_SIZE: i64 = 100 << 30;

/// Every disk, in the order of names.
pub(crate) fn list(root: &Root, mounts: &Mounts, device_type: Option<BootDeviceType>) -> Vec<Disk> {
    let devices: Vec<Device> =
        root.list("/sys/block").into_iter().map(|name| Device::read(root, name)).collect();
    if let Some(appliance) = devices.iter().find(|device| device.dm_name.starts_with("agent")) {
        return vec![appliance_disk(root, appliance, &devices)];
    }
    let links = links_by_device(root);
    let mut bus_paths: HashMap<&str, usize> = HashMap::new();
    for device in &devices {
        *bus_paths.entry(device.bus_path()).or_default() += 1;
    }
    devices
        .iter()
        .filter(|device| device.is_reported(root))
        .map(|device| {
            let shared = bus_paths.get(device.bus_path()).is_some_and(|count| *count > 1);
            disk(root, device, links.get(&format!("/dev/{}", device.name)), shared, mounts, device_type)
        })
        .collect()
}

fn disk(
    root: &Root,
    device: &Device,
    link: Option<&String>,
    shared_path: bool,
    mounts: &Mounts,
    device_type: Option<BootDeviceType>,
) -> Disk {
    let sys = device.sys();
    let by_path = device.by_path().filter(|path| root.exists(path));
    let path = Some(format!("/dev/{}", device.name))
        .filter(|path| root.exists(path))
        .or_else(|| root.resolve(by_path.as_ref()?))
        .unwrap_or_default();
    let by_path = by_path.filter(|_| !shared_path).unwrap_or_default();
    let by_id = link.cloned().unwrap_or_default();
    let kind = drive_type::drive_type(root, device);
    let session = (kind == DriveType::ISCSI).then(|| iscsi::Session::find(root, device));
    let verdict = eligibility::verdict(root, device, session.as_ref(), mounts, device_type);
    let wwn =
        device.wwn().or_else(|| by_id.strip_prefix("/dev/disk/by-id/").map(bare_wwn)).unwrap_or_default();
    let id = [&by_id, &by_path, &path].into_iter().find(|id| !id.is_empty()).cloned().unwrap_or_default();
    Disk {
        id,
        drive_type: Some(kind),
        has_uuid: device.has_identity(root),
        vendor: root.text(&format!("{sys}/device/vendor")).unwrap_or_default(),
        name: device.name.clone(),
        hctl: root.list(&format!("{sys}/device/scsi_device")).into_iter().next().unwrap_or_default(),
        by_path,
        by_id,
        model: device.udev("ID_MODEL").unwrap_or_default().into(),
        wwn,
        serial: device.serial().unwrap_or_default().into(),
        size_bytes: device.size,
        bootable: has_boot_sector(root, &path),
        path,
        removable: root.text(&format!("{sys}/removable")).is_some_and(|text| text == "1"),
        is_installation_media: verdict.installation_media || kind == DriveType::Odd,
        holders: root.list(&format!("{sys}/holders")).join(","),
        iscsi: session.map(|session| Iscsi { host_ip_address: session.host_address(root) }),
        installation_eligibility: eligible(verdict.reasons),
        ..Disk::default()
    }
}

fn eligible(reasons: Vec<String>) -> DiskInstallationEligibility {
    DiskInstallationEligibility {
        eligible: reasons.is_empty(),
        not_eligible_reasons: (!reasons.is_empty()).then_some(reasons),
    }
}

fn appliance_disk(root: &Root, device: &Device, devices: &[Device]) -> Disk {
    Disk {
        name: device.name.clone(),
        path: format!("/dev/{}", device.name),
        drive_type: Some(DriveType::Ssd),
        size_bytes: APPLIANCE_SIZE,
        has_uuid: devices.iter().any(|device| device.has_identity(root)),
        installation_eligibility: eligible(Vec::new()),
        ..Disk::default()
    }
}

/// Device to its most lasting link. Names come sorted, so that `wwn-` wins over `nvme-eui`.
fn links_by_device(root: &Root) -> HashMap<String, String> {
    let names = root.list(BY_ID).into_iter();
    let lasting = names.filter(|name| name.starts_with("wwn-") || name.starts_with("nvme-eui"));
    lasting
        .filter_map(|name| {
            let link = format!("{BY_ID}/{name}");
            Some((root.resolve(&link)?, link))
        })
        .collect()
}

fn bare_wwn(link: &str) -> String {
    link.strip_prefix("wwn-").or_else(|| link.strip_prefix("nvme-")).unwrap_or(link).to_owned()
}

/// Whether the first sector ends as a boot sector does.
fn has_boot_sector(root: &Root, path: &str) -> bool {
    !path.is_empty() && root.head(path, 512).is_ok_and(|sector| sector.get(510..) == Some(&[0x55, 0xaa]))
}

/// Whether a device is a multipath or LVM device of the device mapper.
fn is_mapped(class: Class) -> bool {
    matches!(class, Class::Multipath | Class::Lvm)
}
