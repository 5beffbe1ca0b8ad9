//! Image mode: evaluated only where the cluster has it enabled.

use assisted_wire::cluster::DiskEncryption;
use assisted_wire::cluster_params::RoleSet;
use assisted_wire::inventory::{Boot, BootDeviceType, DriveType};
use serde_json::json;

use super::*;
use crate::layering::tests::{enabled, layered, objects};
use crate::validation::testing::disk;

fn machine(inventory: &InventoryBuilder) -> Facts {
    layered(&enabled(), &objects()).with_inventory(inventory)
}

#[test]
pub(super) fn disks() {
    let id = OclDiskCompatible;
    success(&layered(&enabled(), &objects()), id, "The image can be put onto the installation disk");
    pending(
        &layered(&enabled(), &objects()).with_host(|host| host.inventory = None),
        id,
        "Missing inventory",
    );
    let encryption = DiskEncryption { enable_on: Some(RoleSet::All), ..DiskEncryption::default() };
    failure(
        &layered(&enabled(), &objects()).with_cluster(|cluster| cluster.disk_encryption = Some(encryption)),
        id,
        "The host's disk is to be encrypted, so its image can't be put there before its first start (V16)",
    );
    failure(
        &machine(&inventory().disks(vec![disk("dm-0", DriveType::Multipath, 200)])),
        id,
        "The host's installation disk is one of device mapper, so its image can't be put there before its first start (V16)",
    );
    let boot = Boot { device_type: Some(BootDeviceType::Persistent), ..Boot::default() };
    failure(
        &machine(&inventory().with(|inventory| inventory.boot = Some(boot))),
        id,
        "The host keeps the system that it was booted from, so the registry's replica has no place on it (V16)",
    );
    let without = layered(&json!({"mode": "Disabled"}), &objects());
    assert!(evaluate(&without, &without.hosts[0]).unwrap().get(id).is_none());
}

#[test]
pub(super) fn resources() {
    let id = OclBuildResources;
    success(&layered(&enabled(), &objects()), id, "The host has room for what image mode asks of it");
    pending(
        &layered(&enabled(), &objects()).with_host(|host| host.inventory = None),
        id,
        "Missing inventory",
    );
    failure(
        &machine(&inventory().disks(vec![disk("sda", DriveType::Ssd, 60)])),
        id,
        "The host can't build images: it has a disk of 60 GB and 32 GiB of memory, it needs an installation disk of 120 GB, or 64 \
         GiB of memory (V17)",
    );
    failure(
        &machine(&inventory().disks(vec![disk("sda", DriveType::Ssd, 10)])),
        id,
        "The installation disk has 10 GB, 17 GB are needed for the registry's replica alone (V17)",
    );
    failure(
        &single_node(machine(&inventory().disks(vec![disk("sda", DriveType::Ssd, 500)]))),
        id,
        "The host can't build images: it has a disk of 500 GB and 32 GiB of memory, it needs 64 GiB of memory (V17)",
    );
    let asked = json!({"mode": "Enabled", "scratch": "Disk"});
    failure(
        &single_node(layered(&asked, &objects())),
        id,
        "A single node can't build on its disk, which is written when the image is there (V17)",
    );
}
