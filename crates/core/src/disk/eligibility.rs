//! Whether a disk can be installed on (validations §4.4).
//!
//! The agent refuses disks for reasons that only it can see; those stay. The service's own reasons are taken out and
//! worked out anew for each inventory, since role, version and the other disks may have changed.

use std::net::IpAddr;

use assisted_base::version::at_least;
use assisted_wire::inventory::{Disk, DriveType, Inventory};

use crate::catalogue::hardware::{self, HardwareError, SelectionInput, bytes};
use crate::model::facts::{Facts, HostFacts};
use crate::network::{address, route};

const MULTIPATH_UNSUPPORTED: &str = "Multipath device has path of unsupported type. It must be FC, iSCSI";
const MULTIPATH_MIXED: &str =
    "Multipath device has paths of different types, but they must all be the same type";
const MULTIPATH_BROKEN: &str =
    "Installation on multipath device is not possible due to errors on at least one iSCSI disk";
const ISCSI_NO_IP: &str = "Host IP address is not available";
const ISCSI_NO_NIC: &str = "Cannot find the network interface behind the default route";

/// What disks are judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Least size in GB (10^9 bytes).
    pub min_size_gb: i64,
    /// Drive types that can be installed on, in the order of the text.
    pub drive_types: Vec<DriveType>,
}

impl Policy {
    /// A least size, with the drive types of an OpenShift version on a CPU architecture.
    pub fn new(min_size_gb: i64, version: &str, architecture: &str) -> Self {
        Self { min_size_gb, drive_types: drive_types(version, architecture) }
    }

    fn allows(&self, disk: &Disk) -> bool {
        self.drive_types.contains(&drive_type(disk))
    }
}

fn drive_types(version: &str, architecture: &str) -> Vec<DriveType> {
    let mut types = vec![DriveType::Hdd, DriveType::Ssd, DriveType::Multipath];
    if at_least(version, 4, 14) {
        types.push(DriveType::Raid);
    }
    if at_least(version, 4, 15) {
        types.push(DriveType::ISCSI);
    }
    match architecture {
        "s390x" => types.extend([DriveType::Fc, DriveType::EckdEse, DriveType::Eckd, DriveType::Fba]),
        "x86_64" => types.push(DriveType::Fc),
        _ => {}
    }
    types
}

fn drive_type(disk: &Disk) -> DriveType {
    disk.drive_type.unwrap_or(DriveType::Unknown)
}

/// Works out anew which disks of a host's new inventory can be installed on.
///
/// # Errors
///
/// The host's requirements can't be told.
pub fn annotate(facts: &Facts, host: &HostFacts, inventory: &mut Inventory) -> Result<(), HardwareError> {
    let input = SelectionInput { inventory: Some(inventory), ..SelectionInput::of(facts, host) };
    let size = hardware::total(&facts.policy.hardware.requirements, &input)?.disk_size_gb;
    let architecture = inventory.cpu.as_ref().map_or("", |cpu| cpu.architecture.as_str());
    let policy = Policy::new(size, hardware::version_of(facts, host), architecture);
    annotate_with(&policy, inventory);
    Ok(())
}

/// Works out anew which disks can be installed on.
pub fn annotate_with(policy: &Policy, inventory: &mut Inventory) {
    let reasons: Vec<Vec<String>> =
        inventory.disks.iter().flatten().map(|disk| reasons(policy, disk, inventory)).collect();
    for (disk, own) in inventory.disks.iter_mut().flatten().zip(reasons) {
        let told = disk.installation_eligibility.not_eligible_reasons.take().unwrap_or_default();
        let mut all: Vec<String> = told.into_iter().filter(|reason| !is_own(reason)).collect();
        all.extend(own);
        disk.installation_eligibility.eligible = all.is_empty();
        disk.installation_eligibility.not_eligible_reasons = (!all.is_empty()).then_some(all);
    }
}

/// Whether a reason is one that the service gives.
fn is_own(reason: &str) -> bool {
    let within =
        |start: &str, middle: &str| reason.strip_prefix(start).is_some_and(|rest| rest.contains(middle));
    within("Disk is too small (", " are required)")
        || within("Drive type is ", ", it must be one of ")
        || within("Disk is a member of multipath device ", " and is not eligible for installation.")
        || within("Cannot parse iSCSI host IP ", ": ")
        || within("iSCSI host IP ", " is the same as host IP, they must be different")
        || [MULTIPATH_UNSUPPORTED, MULTIPATH_MIXED, MULTIPATH_BROKEN, ISCSI_NO_IP, ISCSI_NO_NIC]
            .contains(&reason)
}

fn reasons(policy: &Policy, disk: &Disk, inventory: &Inventory) -> Vec<String> {
    let mut reasons = Vec::new();
    reasons.extend(too_small(policy, disk));
    if !policy.allows(disk) {
        let allowed: Vec<&str> = policy.drive_types.iter().map(|each| each.as_str()).collect();
        let own = drive_type(disk);
        reasons.push(format!("Drive type is {own}, it must be one of {}.", allowed.join(", ")));
    }
    match drive_type(disk) {
        DriveType::Fc | DriveType::ISCSI => {
            reasons.extend(multipath_of(disk, inventory).map(|device| {
                format!(
                    "Disk is a member of multipath device {device} and is not eligible for installation. \
                     Use the multipath device instead."
                )
            }));
            if drive_type(disk) == DriveType::ISCSI {
                reasons.extend(iscsi(disk, inventory));
            }
        }
        DriveType::Multipath => reasons.extend(multipath(policy, disk, inventory)),
        _ => {}
    }
    reasons
}

fn too_small(policy: &Policy, disk: &Disk) -> Option<String> {
    let required = policy.min_size_gb.saturating_mul(1_000_000_000);
    if disk.size_bytes >= required {
        return None;
    }
    let (mut has, needs) = (bytes::decimal(disk.size_bytes), bytes::decimal(required));
    if has == needs {
        has = format!("{has} (short by {})", bytes::decimal(required.saturating_sub(disk.size_bytes)));
    }
    Some(format!("Disk is too small (disk only has {has}, but {needs} are required)"))
}

/// The multipath device that a disk is a path of.
fn multipath_of<'a>(disk: &Disk, inventory: &'a Inventory) -> Option<&'a str> {
    let mut devices =
        inventory.disks.iter().flatten().filter(|other| drive_type(other) == DriveType::Multipath);
    devices
        .find(|other| disk.holders.split(',').any(|holder| holder == other.name))
        .map(|other| other.name.as_str())
}

/// The paths of a multipath device.
pub(crate) fn paths<'a>(device: &'a Disk, inventory: &'a Inventory) -> impl Iterator<Item = &'a Disk> {
    // By part of the text: agents differ in what they put around the names.
    let is_path = |disk: &&Disk| !device.name.is_empty() && disk.holders.contains(&device.name);
    inventory.disks.iter().flatten().filter(is_path)
}

fn multipath(policy: &Policy, device: &Disk, inventory: &Inventory) -> Vec<String> {
    let types: Vec<DriveType> = paths(device, inventory).map(drive_type).collect();
    if !types.iter().any(|each| matches!(each, DriveType::Fc | DriveType::ISCSI)) {
        return vec![MULTIPATH_UNSUPPORTED.to_owned()];
    }
    let mut reasons = Vec::new();
    if types.windows(2).any(|pair| pair[0] != pair[1]) {
        reasons.push(MULTIPATH_MIXED.to_owned());
    }
    let mut iscsi_paths = paths(device, inventory).filter(|path| drive_type(path) == DriveType::ISCSI);
    if iscsi_paths.any(|path| !policy.allows(path) || iscsi(path, inventory).is_some()) {
        reasons.push(MULTIPATH_BROKEN.to_owned());
    }
    reasons
}

/// What is wrong with the way to an iSCSI disk: it must not be the one that the node's traffic takes.
fn iscsi(disk: &Disk, inventory: &Inventory) -> Option<String> {
    let text = disk.iscsi.as_ref().map_or("", |iscsi| iscsi.host_ip_address.as_str());
    if text.is_empty() {
        return Some(ISCSI_NO_IP.to_owned());
    }
    let ip: IpAddr = match text.parse() {
        Ok(ip) => ip,
        Err(error) => return Some(format!("Cannot parse iSCSI host IP {text}: {error}")),
    };
    let route = route::best_default_route(inventory, address::stack_of(ip))?;
    let Some(nic) = inventory.interfaces.iter().flatten().find(|nic| nic.name == route.interface) else {
        return Some(ISCSI_NO_NIC.to_owned());
    };
    let same = address::of_interface(nic).any(|own| own.net.addr() == ip);
    same.then(|| format!("iSCSI host IP {text} is the same as host IP, they must be different"))
}

#[cfg(test)]
#[path = "eligibility_tests.rs"]
mod tests;
