//! `vsphere-disk-uuid-enabled`: disks of a VMware machine can be told apart, so that volumes can be mounted.

use super::View;
use super::platform::manufacturer;
use crate::catalogue::platform::host_support::VMWARE;
use crate::disk::Policy;
use crate::model::outcome::Outcome;

pub(super) fn check(view: &View<'_>) -> Outcome {
    // Without an inventory nobody knows whose machine it is, so it is none of VMware's.
    let Some(inventory) = view.inventory.filter(|inventory| manufacturer(inventory) == VMWARE) else {
        return Outcome::suppressed();
    };
    if view.cluster.is_none() {
        return Outcome::suppressed();
    }
    let Some(disks) = &inventory.disks else { return Outcome::awaits_inventory("no disks") };
    let architecture = inventory.cpu.as_ref().map_or("", |cpu| cpu.architecture.as_str());
    let policy = Policy::new(0, "", architecture);
    let lacks = disks.iter().any(|disk| {
        let valid = disk.drive_type.is_some_and(|kind| policy.drive_types.contains(&kind));
        disk.installation_eligibility.eligible && valid && !disk.has_uuid
    });
    if lacks {
        Outcome::failure(
            "VSphere disk.EnableUUID isn't enabled for this virtual machine, it's necessary for disks to be mounted \
             properly",
        )
        .measured("a disk without UUID")
        .required("a UUID of each disk")
        .remedy("Set disk.EnableUUID to TRUE in the virtual machine's advanced settings, and boot it anew.")
    } else {
        Outcome::success("VSphere disk.EnableUUID is enabled for this virtual machine")
    }
}
