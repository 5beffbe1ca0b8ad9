//! What the machine itself knows against installing to a disk (agent-protocol §3.7.4); the texts are part of the
//! protocol. The service adds its own reasons.

use assisted_wire::inventory::BootDeviceType;

use super::device::{Class, Device};
use super::{drive_type, is_mapped, iscsi};
use crate::Root;
use crate::mounts::Mounts;

/// Not one of the protocol's reasons: hosts that wait for a dead disk for ever have nothing to say about it.
pub(super) const NO_ANSWER: &str = "Disk does not answer";

/// Reasons, and whether the disk is what the machine was booted from to be installed.
#[derive(Debug, Default)]
pub(super) struct Eligibility {
    pub(super) reasons: Vec<String>,
    pub(super) installation_media: bool,
}

pub(super) fn verdict(
    root: &Root,
    device: &Device,
    session: Option<&iscsi::Session>,
    mounts: &Mounts,
    device_type: Option<BootDeviceType>,
) -> Eligibility {
    let mut verdict = Eligibility::default();
    let software =
        is_mapped(device.class) || ["dasd", "md"].iter().any(|prefix| device.name.starts_with(prefix));
    if !drive_type::has_known_controller(device) && !software {
        verdict.reasons.push("Disk has unknown storage controller".into());
    }
    if device.class == Class::Lvm {
        verdict.reasons.push("Disk is an LVM logical volume".into());
    }
    verdict.reasons.extend(session.and_then(|session| session.objection(root, device)).map(String::from));
    partitions(root, device, mounts, device_type, &mut verdict);
    verdict
}

fn partitions(
    root: &Root,
    device: &Device,
    mounts: &Mounts,
    device_type: Option<BootDeviceType>,
    verdict: &mut Eligibility,
) {
    let partitions = device.partitions(root);
    // The disk that an appliance was delivered on.
    if partitions.iter().any(|partition| device.partition_label(root, partition).starts_with("agent")) {
        return;
    }
    for partition in partitions {
        let Some(target) = mounts.target_of(&format!("/dev/{partition}")) else { continue };
        if target.ends_with("iso") {
            let reason =
                "Disk appears to be an ISO installation media (has partition with mountpoint suffix iso)";
            verdict.reasons.push(reason.into());
            verdict.installation_media = true;
            return;
        }
        // A machine that runs from its own disk has it mounted, and is to be installed on it all the same.
        if device_type != Some(BootDeviceType::Persistent) {
            verdict.reasons.push(format!("Disk has partition '{partition}' mounted on '{target}'"));
        }
    }
}
