//! The choice of the installation disk, and of the disks that are wiped before (state-machines §4.15).

use std::collections::BTreeMap;

use assisted_wire::host::{DiskInfo, DiskSpeed, Host};
use assisted_wire::inventory::{Disk, DriveType, Inventory};

/// Gives disks without an id the path of their device as id.
pub fn fill_ids(inventory: &mut Inventory) {
    for disk in inventory.disks.iter_mut().flatten() {
        if disk.id.is_empty() {
            disk.id = format!("/dev/{}", disk.name);
        }
    }
}

/// Whether a disk goes by a name: its id, its path by position, or the path of its device.
pub fn is_same(disk: &Disk, name: &str) -> bool {
    !name.is_empty()
        && (disk.id == name
            || disk.by_path == name
            || name.strip_prefix("/dev/").is_some_and(|device| !device.is_empty() && device == disk.name))
}

/// The disk that goes by a name.
pub fn find<'a>(inventory: &'a Inventory, name: &str) -> Option<&'a Disk> {
    inventory.disks.iter().flatten().find(|disk| is_same(disk, name))
}

/// The name under which the host's installation disk is kept: its id, else its path; empty when there is none.
pub fn chosen(host: &Host) -> &str {
    if host.installation_disk_id.is_empty() {
        &host.installation_disk_path
    } else {
        &host.installation_disk_id
    }
}

/// Eligible disks, the best first: bootable, then not NVMe, then by drive type, size and position.
pub fn in_order_of_preference(inventory: &Inventory) -> Vec<&Disk> {
    let mut disks: Vec<&Disk> =
        inventory.disks.iter().flatten().filter(|disk| disk.installation_eligibility.eligible).collect();
    disks.sort_by_key(|disk| {
        let drive_type = disk.drive_type.map_or("", DriveType::as_str);
        (!disk.bootable, disk.name.starts_with("nvme"), drive_type, disk.size_bytes, disk.hctl.as_str())
    });
    disks
}

/// The disk to install on: the one that was chosen, as long as it is eligible, else the best one.
pub fn installation_disk<'a>(host: &Host, inventory: &'a Inventory) -> Option<&'a Disk> {
    let kept = find(inventory, chosen(host)).filter(|disk| disk.installation_eligibility.eligible);
    kept.or_else(|| in_order_of_preference(inventory).into_iter().next())
}

/// Ids of the disks that are wiped before the installation, joined by commas: those that the machine might boot from
/// instead.
pub fn to_be_formatted(inventory: &Inventory) -> String {
    let wiped = |disk: &&Disk| {
        let shared = matches!(
            disk.drive_type,
            Some(DriveType::Fc | DriveType::ISCSI | DriveType::Lvm | DriveType::Multipath)
        );
        let removable = disk.removable || disk.by_path.contains("mmcblk");
        disk.bootable && !removable && !shared && !disk.is_installation_media
    };
    let ids: Vec<&str> =
        inventory.disks.iter().flatten().filter(wiped).map(|disk| disk.id.as_str()).collect();
    ids.join(",")
}

/// The measured speed of a disk out of the text of `disks_info`; `None` when there is none, or the text can't be read.
pub fn speed_of(disks_info: &str, disk: &str) -> Option<DiskSpeed> {
    let disks: BTreeMap<String, DiskInfo> = serde_json::from_str(disks_info).ok()?;
    disks.get(disk)?.disk_speed.clone()
}

#[cfg(test)]
mod tests {
    use assisted_wire::inventory::DiskInstallationEligibility;

    use super::*;

    fn disk(name: &str, drive_type: DriveType, gb: i64) -> Disk {
        Disk {
            id: format!("/dev/disk/by-id/{name}"),
            name: name.to_owned(),
            drive_type: Some(drive_type),
            size_bytes: gb * 1_000_000_000,
            installation_eligibility: DiskInstallationEligibility {
                eligible: true,
                not_eligible_reasons: None,
            },
            ..Disk::default()
        }
    }

    fn names(disks: Vec<Disk>) -> String {
        let inventory = Inventory { disks: Some(disks), ..Inventory::default() };
        let names: Vec<_> = in_order_of_preference(&inventory).iter().map(|disk| disk.name.clone()).collect();
        names.join(" ")
    }

    #[test]
    fn preference() {
        let mut bootable = disk("sdz", DriveType::Ssd, 900);
        bootable.bootable = true;
        let mut refused = disk("sdx", DriveType::Hdd, 1);
        refused.installation_eligibility.eligible = false;
        let mut second = disk("sdh", DriveType::Hdd, 300);
        second.hctl = "1:0:0:0".to_owned();
        let mut first = disk("sdi", DriveType::Hdd, 300);
        first.hctl = "0:0:0:0".to_owned();
        let disks = vec![
            disk("nvme0n1", DriveType::Ssd, 100),
            disk("sda", DriveType::Ssd, 100),
            disk("sdb", DriveType::Hdd, 200),
            second,
            first,
            disk("dm-0", DriveType::Multipath, 10),
            bootable,
            refused,
        ];
        assert_eq!(names(disks), "sdz sdb sdi sdh dm-0 sda nvme0n1");
    }

    #[test]
    fn the_chosen_disk_is_kept_while_it_is_eligible() {
        let mut inventory = Inventory {
            disks: Some(vec![disk("sda", DriveType::Hdd, 1), disk("sdb", DriveType::Hdd, 2)]),
            ..Inventory::default()
        };
        let mut host: Host = crate::validation::testing::host(1).record.into_inner().host;
        let name = |host: &Host, inventory: &Inventory| {
            installation_disk(host, inventory).map(|disk| disk.name.clone())
        };
        assert_eq!(name(&host, &inventory).as_deref(), Some("sda"));
        for by in ["/dev/sdb", "/dev/disk/by-id/sdb"] {
            host.installation_disk_path = by.to_owned();
            assert_eq!(name(&host, &inventory).as_deref(), Some("sdb"), "{by}");
        }
        for disk in inventory.disks.iter_mut().flatten() {
            disk.installation_eligibility.eligible = disk.name == "sda";
        }
        assert_eq!(name(&host, &inventory).as_deref(), Some("sda"));
        inventory.disks = None;
        assert_eq!(name(&host, &inventory), None);
    }

    #[test]
    fn wiped() {
        let with = |name: &str, drive_type, change: &dyn Fn(&mut Disk)| {
            let mut disk = disk(name, drive_type, 1);
            disk.bootable = true;
            change(&mut disk);
            disk
        };
        let inventory = Inventory {
            disks: Some(vec![
                with("sda", DriveType::Hdd, &|_| {}),
                with("sdb", DriveType::Hdd, &|disk| disk.bootable = false),
                with("sdc", DriveType::Hdd, &|disk| disk.removable = true),
                with("sdd", DriveType::Hdd, &|disk| disk.is_installation_media = true),
                with("sde", DriveType::Fc, &|_| {}),
                with("mmc", DriveType::Ssd, &|disk| {
                    disk.by_path = "/dev/disk/by-path/platform-mmcblk0".to_owned();
                }),
                with("sdf", DriveType::Ssd, &|_| {}),
            ]),
            ..Inventory::default()
        };
        assert_eq!(to_be_formatted(&inventory), "/dev/disk/by-id/sda,/dev/disk/by-id/sdf");
    }

    #[test]
    fn speeds() {
        let text = r#"{"/dev/sda":{"path":"/dev/sda","disk_speed":{"tested":true,"exit_code":1}}}"#;
        assert_eq!(speed_of(text, "/dev/sda").map(|speed| speed.exit_code), Some(1));
        assert_eq!(speed_of(text, "/dev/sdb"), None);
        assert_eq!(speed_of("", "/dev/sda"), None);
    }
}
