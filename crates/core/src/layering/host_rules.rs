//! What of a single host must fit image mode (ocl-day1 §B3.2, "C (per host)").

use assisted_wire::cluster_params::RoleSet;
use assisted_wire::host::HostRole;
use assisted_wire::inventory::{BootDeviceType, Disk, DriveType};

use super::input::Input;
use super::settings::Scratch;
use super::violation::{Rule, Violation};
use crate::model::disk::installation_disk;
use crate::model::facts::HostFacts;
use crate::model::topology;

const GB: i64 = 1_000_000_000;
const GIB: i64 = 1 << 30;

fn disk(host: &HostFacts) -> Option<&Disk> {
    installation_disk(&host.record.host, host.inventory.as_deref()?)
}

/// Whether the host's installation disk is made of others by device mapper.
pub(super) fn is_mapped(host: &HostFacts) -> bool {
    disk(host).is_some_and(|disk| {
        disk.name.starts_with("dm-") || matches!(disk.drive_type, Some(DriveType::Multipath | DriveType::Lvm))
    })
}

fn is_master(host: &HostFacts) -> bool {
    matches!(host.effective_role(), HostRole::Master | HostRole::Bootstrap)
}

/// With the embedded registry the image is put onto the disk before its first start, which these disks don't allow.
pub fn v16(input: &Input<'_>, host: &HostFacts) -> Option<Violation> {
    if !input.is_embedded() || host.effective_role() == HostRole::Arbiter {
        return None;
    }
    let encryption = input.cluster.disk_encryption.as_ref().and_then(|encryption| encryption.enable_on);
    let encrypted = encryption.filter(|roles| *roles != RoleSet::None);
    if encrypted.is_some_and(|roles| topology::covers(roles, host.effective_role())) {
        let remedy = "Switch the encryption of disks off for its role, or use an external registry.";
        return Some(Violation::new(
            Rule::V16,
            "The host's disk is to be encrypted, so its image can't be put there before its first start",
            remedy,
        ));
    }
    if is_mapped(host) {
        let remedy = "Choose a plain installation disk, or use an external registry.";
        return Some(Violation::new(
            Rule::V16,
            "The host's installation disk is one of device mapper, so its image can't be put there before its first start",
            remedy,
        ));
    }
    let boot = host.inventory.as_ref().and_then(|inventory| inventory.boot.as_ref());
    if is_master(host) && boot.and_then(|boot| boot.device_type) == Some(BootDeviceType::Persistent) {
        let remedy = "Boot it from the discovery image, or use an external registry.";
        return Some(Violation::new(
            Rule::V16,
            "The host keeps the system that it was booted from, so the registry's replica has no place on it",
            remedy,
        ));
    }
    None
}

/// Each control plane host may be the one that builds, and keeps a replica of the registry. A single node never gives its disk to the
/// builder: it is written when the image is there.
pub fn v17(input: &Input<'_>, host: &HostFacts) -> Option<Violation> {
    if !is_master(host) {
        return None;
    }
    let limits = &input.facts.policy.layering;
    let memory = host
        .inventory
        .as_ref()
        .and_then(|inventory| inventory.memory.as_ref())
        .map_or(0, |memory| memory.physical_bytes);
    let size = disk(host).map_or(0, |disk| disk.size_bytes);
    let replica = 2 * limits.replica_gib.saturating_mul(GIB);
    if input.is_embedded() && size < replica {
        let text = format!(
            "The installation disk has {} GB, {} GB are needed for the registry's replica alone",
            size / GB,
            replica / GB
        );
        return Some(Violation::new(Rule::V17, text, "Choose a larger installation disk."));
    }
    let on_disk = size >= limits.min_disk_gb.saturating_mul(GB);
    let in_memory = memory >= limits.min_memory_gib.saturating_mul(GIB);
    let disk_needed = format!("an installation disk of {} GB", limits.min_disk_gb);
    let memory_needed = format!("{} GiB of memory", limits.min_memory_gib);
    let is_single = topology::is_single_node(input.cluster);
    let (fits, needed, remedy) = match input.settings.scratch() {
        Scratch::Disk if is_single => {
            let text = "A single node can't build on its disk, which is written when the image is there";
            return Some(Violation::new(Rule::V17, text, "Set scratch to Memory."));
        }
        _ if is_single => (in_memory, memory_needed, "Add memory: a single node builds nowhere else."),
        Scratch::Disk => (on_disk, disk_needed, "Choose a larger installation disk."),
        Scratch::Memory => (in_memory, memory_needed, "Add memory."),
        Scratch::Auto => (
            on_disk || in_memory,
            format!("{disk_needed}, or {memory_needed}"),
            "Choose a larger installation disk, or add memory.",
        ),
    };
    (!fits).then(|| {
        let text = format!(
            "The host can't build images: it has a disk of {} GB and {} GiB of memory, it needs {needed}",
            size / GB,
            memory / GIB
        );
        Violation::new(Rule::V17, text, remedy)
    })
}
