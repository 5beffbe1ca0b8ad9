//! Disks: which block devices are reported, with what properties, and what speaks against each (agent-protocol §3.7).

mod device;
mod drive_type;
mod eligibility;
mod iscsi;

use std::collections::HashMap;
use std::time::Duration;

use assisted_wire::inventory::{BootDeviceType, Disk, DiskInstallationEligibility, DriveType, Iscsi};

use crate::Root;
use crate::mounts::Mounts;
use device::{Class, Device};

pub(crate) use device::UDEV_KEYS;
pub(crate) use drive_type::channel_device;

const BY_ID: &str = "/dev/disk/by-id";
/// How long a disk may take to show its first sector; one that has to spin up first needs most of it.
const PATIENCE: Duration = Duration::from_secs(20);
const SECTOR: u64 = 512;
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
    let reported: Vec<_> = devices
        .iter()
        .filter(|device| device.is_reported(root))
        .map(|device| {
            let shared = bus_paths.get(device.bus_path()).is_some_and(|count| *count > 1);
            (device, Names::find(root, device, &links, shared))
        })
        .collect();
    let paths: Vec<_> =
        reported.iter().map(|(_, names)| names.path.clone()).filter(|path| !path.is_empty()).collect();
    let sectors = root.heads(&paths, SECTOR, PATIENCE);
    reported
        .into_iter()
        .map(|(device, names)| {
            let sector = sectors.get(&names.path).map(Option::as_deref);
            disk(root, device, names, sector, mounts, device_type)
        })
        .collect()
}

/// What a disk is called below `/dev`; empty where it has no such name.
struct Names {
    path: String,
    by_path: String,
    by_id: String,
}

impl Names {
    fn find(root: &Root, device: &Device, links: &HashMap<String, String>, shared_path: bool) -> Self {
        let by_path = device.by_path().filter(|path| root.exists(path));
        let own = format!("/dev/{}", device.name);
        let by_id = links.get(&own).cloned().unwrap_or_default();
        let path = Some(own).filter(|path| root.exists(path)).or_else(|| root.resolve(by_path.as_ref()?));
        Self {
            path: path.unwrap_or_default(),
            by_path: by_path.filter(|_| !shared_path).unwrap_or_default(),
            by_id,
        }
    }
}

/// `sector` is the first one: `None` where there is no device to read, `Some(None)` where it doesn't answer.
fn disk(
    root: &Root,
    device: &Device,
    Names { path, by_path, by_id }: Names,
    sector: Option<Option<&[u8]>>,
    mounts: &Mounts,
    device_type: Option<BootDeviceType>,
) -> Disk {
    let sys = device.sys();
    let kind = drive_type::drive_type(root, device);
    let session = (kind == DriveType::ISCSI).then(|| iscsi::Session::find(root, device));
    let mut verdict = eligibility::verdict(root, device, session.as_ref(), mounts, device_type);
    if sector == Some(None) {
        tracing::warn!(disk = device.name, "disk does not answer");
        verdict.reasons.push(eligibility::NO_ANSWER.into());
    }
    let wwn =
        device.wwn().or_else(|| by_id.strip_prefix("/dev/disk/by-id/").map(bare_wwn)).unwrap_or_default();
    let id = [&by_id, &by_path, &path].into_iter().find(|id| !id.is_empty()).cloned().unwrap_or_default();
    Disk {
        id,
        drive_type: Some(kind),
        has_uuid: device.has_identity(root),
        vendor: root
            .text(&format!("{sys}/device/vendor"))
            .filter(|vendor| vendor != "unknown")
            .unwrap_or_default(),
        name: device.name.clone(),
        hctl: root.list(&format!("{sys}/device/scsi_device")).into_iter().next().unwrap_or_default(),
        by_path,
        by_id,
        model: device.udev("ID_MODEL").unwrap_or_default().into(),
        wwn,
        serial: device.serial().unwrap_or_default().into(),
        size_bytes: device.size,
        bootable: sector.flatten().is_some_and(is_boot_sector),
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

fn is_boot_sector(sector: &[u8]) -> bool {
    sector.get(510..) == Some(&[0x55, 0xaa])
}

/// Whether a device is a multipath or LVM device of the device mapper.
fn is_mapped(class: Class) -> bool {
    matches!(class, Class::Multipath | Class::Lvm)
}
