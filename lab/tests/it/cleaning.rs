//! The installer frees a disk of everything that stands on it, with the real tools and a real kernel.

use std::time::Duration;

use assisted_lab_machines::machine::{Boot, Disk, Firmware, Spec};

use crate::service::Service;
use crate::support::ignition;

/// How long a boot takes without KVM, on a busy computer.
const BOOT: Duration = Duration::from_secs(900);

/// Partitions of two disks. On those of the first: an array with a volume group on it, whose other half is on the second disk; a
/// volume group of its own; and three devices of device mapper, one upon the other. Another one, on the second disk, is nobody's
/// business. Then the installer gets the first disk; it frees it, and ends since it has no id to fetch a config by.
const STACKS: &str = r#"#!/bin/bash
exec >/dev/console 2>&1
types() { lsblk --raw --noheadings --output TYPE "$1" | tr '\n' ' '; }
printf 'label: gpt\nsize=256M\nsize=256M\nsize=256M\n' | sfdisk --quiet /dev/vdb
printf 'label: gpt\nsize=256M\nsize=256M\n' | sfdisk --quiet /dev/vdc
udevadm settle
mdadm --create /dev/md/lab --run --metadata=1.2 --level=1 --raid-devices=2 /dev/vdb1 /dev/vdc1
vgcreate --yes on_array /dev/md/lab
lvcreate --yes --size 64M --name data on_array
vgcreate --yes on_partition /dev/vdb2
lvcreate --yes --size 64M --name data on_partition
dmsetup create low --table '0 204800 linear /dev/vdb3 0'
dmsetup create middle --table '0 102400 linear /dev/mapper/low 0'
dmsetup create top --table '0 51200 linear /dev/mapper/middle 0'
dmsetup create other --table '0 51200 linear /dev/vdc2 0'
udevadm settle
echo "before: $(types /dev/vdb)"
/usr/local/bin/assisted-installer --cluster-id 856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf --boot-device /dev/vdb --url http://10.0.2.2:1
udevadm settle
echo "after: $(types /dev/vdb)"
echo "beside: $(types /dev/vdc)"
echo "mapped: $(dmsetup ls | cut -f 1 | tr '\n' ' ')"
echo "arrays: $(grep -c ^md /proc/mdstat) volume groups: '$(vgs --noheadings)' signatures: '$(wipefs --noheadings /dev/vdb)'"
echo "the disk was freed"
"#;

/// A multipath device with one path, as multipathd would make it, and a volume group on it. It is the disk that the installer gets.
const PATHS: &str = r#"#!/bin/bash
exec >/dev/console 2>&1
types() { lsblk --raw --noheadings --output TYPE "$1" | tr '\n' ' '; }
table="0 $(blockdev --getsz /dev/vdb) multipath 2 queue_mode bio 0 1 1 round-robin 0 1 1 /dev/vdb 1"
dmsetup create --uuid mpath-lab paths --table "$table"
vgcreate --yes on_paths /dev/mapper/paths
lvcreate --yes --size 64M --name data on_paths
udevadm settle
echo "before: $(types /dev/vdb)"
/usr/local/bin/assisted-installer --cluster-id 856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf --boot-device /dev/mapper/paths --url http://10.0.2.2:1
udevadm settle
echo "after: $(types /dev/vdb)"
echo "volume groups: '$(vgs --noheadings)' signatures: '$(wipefs --noheadings /dev/mapper/paths)'"
echo "the disk was freed"
"#;

/// Has a machine with two disks beside its own run a script, until the disk is free; these lines must be told.
fn frees(name: &str, script: &str, lines: &[&str]) {
    let service = Service::start();
    let files = [ignition::file("/usr/local/bin/stacks", 0o755, script)];
    let unit = ignition::unit("stacks.service", "/usr/local/bin/stacks");
    service.file("overlay.ign", &ignition::config(&files, &unit));
    let arguments = ["--image-type", "full-iso", "--ignition-override-file", "overlay.ign"];
    let infra_env = service.infra_env(name, &arguments);
    let mut spec = Spec::new(name, Firmware::Uefi, Boot::Usb(service.download(&infra_env)));
    spec.disks = [10 << 30, 2 << 30, 2 << 30].map(|bytes| Disk { bytes }).into();
    let mut machine = service.machine(&spec);
    machine.wait_for("the disk was freed", BOOT).unwrap();
    let console = machine.console().text();
    for line in lines {
        assert!(console.contains(line), "no {line:?} in:\n{}", machine.console().tail());
    }
    assert!(!console.contains("failed to prepare install device"), "{}", machine.console().tail());
}

#[test]
fn everything_on_a_disk_is_undone_before_it_is_written() {
    let lines = [
        "before: disk part raid1 lvm part lvm part dm dm dm \n",
        "after: disk \n",
        "beside: disk part part dm \n",
        "mapped: other \n",
        "arrays: 0 volume groups: '' signatures: ''\n",
    ];
    frees("cleaning", STACKS, &lines);
}

#[test]
fn everything_on_a_multipath_device_is_undone_and_its_paths_stay() {
    let lines = ["before: disk mpath lvm \n", "after: disk mpath \n", "volume groups: '' signatures: ''\n"];
    frees("paths", PATHS, &lines);
}
