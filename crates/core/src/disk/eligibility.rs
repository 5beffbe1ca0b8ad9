//! Whether a disk can be installed on (validations §4.4).
//!
//! The agent refuses disks for reasons that only it can see; those stay. The service's own reasons are taken out and
//! worked out anew for each inventory, since role, version and the other disks may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use assisted_base::version::at_least;
use assisted_wire::inventory::{Disk, DriveType, Inventory};

use crate::catalogue::hardware::{self, HardwareError, SelectionInput, bytes};
use crate::model::cluster::IpStack;
use crate::model::facts::{Facts, HostFacts};
use crate::network::{address, route};

const MULTIPATH_UNSUPPORTED: &str = "Multipath device has path of unsupported type. It must be FC, iSCSI";
const MULTIPATH_MIXED: &str =
    "Multipath device has paths of different types, but they must all be the same type";
const MULTIPATH_BROKEN: &str =
    "Installation on multipath device is not possible due to errors on at least one iSCSI disk";
const ISCSI_NO_IP: &str = "Host IP address is not available";
const ISCSI_NO_NIC: &str = "Cannot find the network interface behind the default route";

/// The requirements that disks are checked against.
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
/// The host's requirements can't be determined.
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
    let context = Context {
        policy,
        multipath: Multipath::of(inventory),
        ways: [IpStack::V4, IpStack::V6].map(|stack| RouteTo::of(inventory, stack)),
    };
    let reasons: Vec<Vec<String>> =
        inventory.disks.iter().flatten().map(|disk| reasons(disk, &context)).collect();
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

/// What the disks of one inventory are judged by: found once for all of them.
struct Context<'a> {
    policy: &'a Policy,
    multipath: Multipath<'a>,
    /// For IPv4 and IPv6.
    ways: [RouteTo; 2],
}

/// The way that a node's traffic of one family takes.
enum RouteTo {
    NoRoute,
    /// The route's interface is not in the inventory.
    NoInterface,
    /// Addresses of the route's interface.
    By(BTreeSet<IpAddr>),
}

impl RouteTo {
    fn of(inventory: &Inventory, stack: IpStack) -> Self {
        let Some(route) = route::best_default_route(inventory, stack) else { return Self::NoRoute };
        let mut interfaces = inventory.interfaces.iter().flatten();
        match interfaces.find(|interface| interface.name == route.interface) {
            Some(found) => Self::By(address::of_interface(found).map(|own| own.net.addr()).collect()),
            None => Self::NoInterface,
        }
    }
}

fn reasons(disk: &Disk, context: &Context<'_>) -> Vec<String> {
    let Context { policy, multipath, .. } = context;
    let mut reasons = Vec::new();
    reasons.extend(too_small(policy, disk));
    if !policy.allows(disk) {
        let allowed: Vec<&str> = policy.drive_types.iter().map(|each| each.as_str()).collect();
        let own = drive_type(disk);
        reasons.push(format!("Drive type is {own}, it must be one of {}.", allowed.join(", ")));
    }
    match drive_type(disk) {
        DriveType::Fc | DriveType::ISCSI => {
            reasons.extend(multipath.device_of(disk).map(|device| {
                format!(
                    "Disk is a member of multipath device {device} and is not eligible for installation. \
                     Use the multipath device instead."
                )
            }));
            if drive_type(disk) == DriveType::ISCSI {
                reasons.extend(iscsi(disk, context));
            }
        }
        DriveType::Multipath => {
            reasons.extend(multipath_reasons(multipath.paths(&disk.name), context));
        }
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

/// The multipath devices of a host, with their paths: found once for all disks.
struct Multipath<'a> {
    /// By name: its place among the disks, and its paths.
    devices: BTreeMap<&'a str, (usize, Vec<&'a Disk>)>,
}

impl<'a> Multipath<'a> {
    fn of(inventory: &'a Inventory) -> Self {
        let disks = || inventory.disks.iter().flatten();
        let is_device = |disk: &Disk| drive_type(disk) == DriveType::Multipath && !disk.name.is_empty();
        let mut devices: BTreeMap<&str, (usize, Vec<&Disk>)> = BTreeMap::new();
        for (place, disk) in disks().enumerate().filter(|(_, disk)| is_device(disk)) {
            devices.entry(&disk.name).or_insert((place, Vec::new()));
        }
        if !devices.is_empty() {
            for disk in disks() {
                let names: BTreeSet<&str> = holders(disk).collect();
                for name in names {
                    if let Some((_, paths)) = devices.get_mut(name) {
                        paths.push(disk);
                    }
                }
            }
        }
        Self { devices }
    }

    fn paths(&self, device: &str) -> &[&'a Disk] {
        self.devices.get(device).map(|(_, paths)| paths.as_slice()).unwrap_or_default()
    }

    /// The first of the devices that a disk is a path of.
    fn device_of(&self, disk: &'a Disk) -> Option<&'a str> {
        let devices = disk.holders.split(',').filter_map(|name| Some((self.devices.get(name)?.0, name)));
        devices.min().map(|(_, name)| name)
    }
}

/// The names of what a disk is part of: agents differ in what they put around the names.
fn holders(disk: &Disk) -> impl Iterator<Item = &str> {
    let is_of_name = |byte: char| byte.is_alphanumeric() || matches!(byte, '-' | '_' | '.' | ':' | '+' | '!');
    disk.holders.split(move |byte| !is_of_name(byte)).filter(|name| !name.is_empty())
}

/// The paths of a multipath device.
pub(crate) fn paths<'a>(device: &'a Disk, inventory: &'a Inventory) -> impl Iterator<Item = &'a Disk> {
    inventory.disks.iter().flatten().filter(|disk| holders(disk).any(|holder| holder == device.name))
}

fn multipath_reasons(paths: &[&Disk], context: &Context<'_>) -> Vec<String> {
    let types: Vec<DriveType> = paths.iter().map(|path| drive_type(path)).collect();
    if !types.iter().any(|each| matches!(each, DriveType::Fc | DriveType::ISCSI)) {
        return vec![MULTIPATH_UNSUPPORTED.to_owned()];
    }
    let mut reasons = Vec::new();
    if types.windows(2).any(|pair| pair[0] != pair[1]) {
        reasons.push(MULTIPATH_MIXED.to_owned());
    }
    let mut iscsi_paths = paths.iter().filter(|path| drive_type(path) == DriveType::ISCSI);
    if iscsi_paths.any(|path| !context.policy.allows(path) || iscsi(path, context).is_some()) {
        reasons.push(MULTIPATH_BROKEN.to_owned());
    }
    reasons
}

/// What is wrong with the way to an iSCSI disk: it must not be the one that the node's traffic takes.
fn iscsi(disk: &Disk, context: &Context<'_>) -> Option<String> {
    let text = disk.iscsi.as_ref().map_or("", |iscsi| iscsi.host_ip_address.as_str());
    if text.is_empty() {
        return Some(ISCSI_NO_IP.to_owned());
    }
    let ip: IpAddr = match text.parse() {
        Ok(ip) => ip,
        Err(error) => return Some(format!("Cannot parse iSCSI host IP {text}: {error}")),
    };
    match &context.ways[usize::from(ip.is_ipv6())] {
        RouteTo::NoRoute => None,
        RouteTo::NoInterface => Some(ISCSI_NO_NIC.to_owned()),
        RouteTo::By(own) => own
            .contains(&ip)
            .then(|| format!("iSCSI host IP {text} is the same as host IP, they must be different")),
    }
}

#[cfg(test)]
#[path = "eligibility_tests.rs"]
mod tests;
