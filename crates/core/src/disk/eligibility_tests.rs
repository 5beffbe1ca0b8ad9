//! Every reason for which the service refuses a disk.

use assisted_wire::inventory::{Disk, DriveType, Inventory, Iscsi};

use super::{Policy, annotate, annotate_with};
use crate::validation::testing::{self, disk, inventory};

/// The reasons of the first disk.
fn reasons(policy: &Policy, disks: Vec<Disk>) -> Vec<String> {
    let mut inventory = inventory().address("10.0.0.5/24").address("10.1.0.5/24").disks(disks).build();
    annotate_with(policy, &mut inventory);
    reasons_of(&inventory)
}

fn reasons_of(inventory: &Inventory) -> Vec<String> {
    let eligibility = &inventory.disks.as_ref().unwrap()[0].installation_eligibility;
    let reasons = eligibility.not_eligible_reasons.clone().unwrap_or_default();
    assert_eq!(eligibility.eligible, reasons.is_empty());
    reasons
}

fn policy() -> Policy {
    Policy::new(100, "4.20.1", "x86_64")
}

fn iscsi(name: &str, ip: &str, holders: &str) -> Disk {
    let mut disk = disk(name, DriveType::ISCSI, 120);
    disk.iscsi = Some(Iscsi { host_ip_address: ip.to_owned() });
    holders.clone_into(&mut disk.holders);
    disk
}

const NONE: [&str; 0] = [];

#[test]
fn size() {
    assert_eq!(reasons(&policy(), vec![disk("sda", DriveType::Hdd, 100)]), NONE);
    assert_eq!(
        reasons(&policy(), vec![disk("sda", DriveType::Hdd, 99)]),
        ["Disk is too small (disk only has 99 GB, but 100 GB are required)"]
    );
    let mut nearly = disk("sda", DriveType::Hdd, 100);
    nearly.size_bytes -= 1;
    assert_eq!(
        reasons(&policy(), vec![nearly]),
        ["Disk is too small (disk only has 100 GB (short by 1 B), but 100 GB are required)"]
    );
}

#[test]
fn drive_types() {
    let of = |version, architecture| {
        let text = reasons(&Policy::new(1, version, architecture), vec![disk("sda", DriveType::Odd, 1)]);
        text[0].strip_prefix("Drive type is ODD, it must be one of ").unwrap().to_owned()
    };
    assert_eq!(of("", "arm64"), "HDD, SSD, Multipath.");
    assert_eq!(of("4.13.9", "aarch64"), "HDD, SSD, Multipath.");
    assert_eq!(of("4.14.0-rc.1", "x86_64"), "HDD, SSD, Multipath, RAID, FC.");
    assert_eq!(of("4.15", "s390x"), "HDD, SSD, Multipath, RAID, iSCSI, FC, ECKD (ESE), ECKD, FBA.");
}

#[test]
fn what_the_agent_said_stays() {
    let mut told = disk("sda", DriveType::Hdd, 120);
    told.installation_eligibility.eligible = false;
    told.installation_eligibility.not_eligible_reasons = Some(vec![
        "Disk is removable".to_owned(),
        "Disk is too small (disk only has 1 GB, but 100 GB are required)".to_owned(),
        "Drive type is ODD, it must be one of HDD, SSD.".to_owned(),
        "iSCSI host IP 10.0.0.5 is the same as host IP, they must be different".to_owned(),
    ]);
    assert_eq!(reasons(&policy(), vec![told]), ["Disk is removable"]);
    // An old agent says nothing at all.
    let mut silent = disk("sda", DriveType::Hdd, 120);
    silent.installation_eligibility.eligible = false;
    assert_eq!(reasons(&policy(), vec![silent]), NONE);
}

#[test]
fn multipath() {
    let device = || disk("dm-0", DriveType::Multipath, 120);
    let path = |name, kind| {
        let mut path = disk(name, kind, 120);
        path.holders = "dm-0".to_owned();
        path
    };
    let fc = || path("sda", DriveType::Fc);
    assert_eq!(reasons(&policy(), vec![device(), fc()]), NONE);
    assert_eq!(
        reasons(&policy(), vec![fc(), device()]),
        [
            "Disk is a member of multipath device dm-0 and is not eligible for installation. Use the multipath device \
          instead."
        ]
    );
    let unsupported = "Multipath device has path of unsupported type. It must be FC, iSCSI";
    assert_eq!(reasons(&policy(), vec![device()]), [unsupported]);
    assert_eq!(reasons(&policy(), vec![device(), path("sdb", DriveType::Hdd)]), [unsupported]);
    assert_eq!(
        reasons(&policy(), vec![device(), fc(), iscsi("sdb", "10.1.0.5", "dm-0")]),
        ["Multipath device has paths of different types, but they must all be the same type"]
    );
    let broken = "Installation on multipath device is not possible due to errors on at least one iSCSI disk";
    assert_eq!(reasons(&policy(), vec![device(), iscsi("sdb", "", "dm-0")]), [broken]);
    let old = Policy::new(100, "4.14.1", "x86_64");
    assert_eq!(reasons(&old, vec![device(), iscsi("sdb", "10.1.0.5", "dm-0")]), [broken]);
}

#[test]
fn iscsi_networks() {
    let of = |ip| reasons(&policy(), vec![iscsi("sda", ip, "")]);
    assert_eq!(of("10.1.0.5"), NONE);
    assert_eq!(of(""), ["Host IP address is not available"]);
    assert_eq!(of("10.0.0.5"), ["iSCSI host IP 10.0.0.5 is the same as host IP, they must be different"]);
    assert!(of("nonsense")[0].starts_with("Cannot parse iSCSI host IP nonsense: "));
    let mut without = inventory().disks(vec![iscsi("sda", "10.1.0.5", "")]).build();
    annotate_with(&policy(), &mut without);
    assert_eq!(reasons_of(&without), ["Cannot find the network interface behind the default route"]);
}

#[test]
fn by_the_host_s_requirements() {
    let size = |facts: &crate::model::facts::Facts, gb| {
        let mut inventory = inventory().disks(vec![disk("sda", DriveType::Hdd, gb)]).build();
        annotate(facts, &facts.hosts[0], &mut inventory).unwrap();
        reasons_of(&inventory).is_empty()
    };
    assert!(size(&testing::facts(1), 100) && !size(&testing::facts(1), 99));
    assert!(size(&testing::unbound(), 50) && !size(&testing::unbound(), 49));
}

#[test]
fn twice_is_as_once() {
    let disks = vec![iscsi("sda", "10.0.0.5", "dm-0"), disk("dm-0", DriveType::Multipath, 1)];
    let mut once = inventory().address("10.0.0.5/24").disks(disks).build();
    annotate_with(&policy(), &mut once);
    let mut twice = once.clone();
    annotate_with(&policy(), &mut twice);
    assert_eq!(once, twice);
}
