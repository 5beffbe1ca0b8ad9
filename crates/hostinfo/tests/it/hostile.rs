//! Trees that no machine has: the inventory is poor then, but it comes, soon and small.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use assisted_hostinfo::{Root, host_id, inventory};

use crate::{fixture, machine};

#[test]
fn an_empty_tree_gives_empty_values() {
    let machine = machine("");
    let found = inventory(&machine.root);
    assert_eq!(found.disks, Some(Vec::new()));
    assert_eq!(found.interfaces, Some(Vec::new()));
    assert_eq!(found.routes, Some(Vec::new()));
    assert_eq!(found.gpus, Some(Vec::new()));
    assert!(found.cpu.is_some(), "readers rely on it");
    assert_eq!(found.bmc_address, "0.0.0.0");
    assert_eq!(found.system_vendor.unwrap().manufacturer, "unknown");
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn garbage_in_any_file_does_no_harm() {
    let garbage: [&[u8]; 5] =
        [b"", b"\0\0\0\0", b"\xff\xfe\xc3\x28", b"-9223372036854775808", &[0xff; 70_000]];
    for name in ["rack-server", "s390x-dasd"] {
        let machine = fixture(name);
        let files = files(machine.dir.path());
        let whole = inventory(&machine.root);
        for (path, bytes) in files.iter().zip(garbage.iter().cycle()) {
            let was = fs::read(path).unwrap();
            fs::write(path, bytes).unwrap();
            let found = inventory(&machine.root);
            assert!(found.cpu.is_some() && found.disks.is_some(), "{}", path.display());
            fs::write(path, was).unwrap();
        }
        assert_eq!(inventory(&machine.root), whole);
        for bytes in garbage {
            files.iter().for_each(|path| fs::write(path, bytes).unwrap());
            assert_eq!(inventory(&machine.root).interfaces, Some(Vec::new()));
        }
    }
}

#[test]
fn links_do_not_lead_outside_or_in_circles() {
    let machine = machine("/proc/sys/kernel/hostname = inside\n/sys/block/sda/size = 8\n");
    let dir = machine.dir.path();
    let secret = tempfile::NamedTempFile::new().unwrap();
    fs::write(secret.path(), "outside").unwrap();
    fs::create_dir_all(dir.join("sys/class/dmi/id")).unwrap();
    symlink(secret.path(), dir.join("sys/class/dmi/id/product_name")).unwrap();
    symlink("../../../../../../../../..", dir.join("sys/class/net")).unwrap();
    symlink("holders", dir.join("sys/block/sda/holders")).unwrap();
    symlink("sda", dir.join("sys/block/sdb")).unwrap();
    symlink("sdc", dir.join("sys/block/sdc")).unwrap();
    let found = inventory(&machine.root);
    assert_eq!(found.system_vendor.unwrap().product_name, "unknown");
    assert_eq!(found.hostname, "inside");
    assert_eq!(found.disks.unwrap().len(), 3);
}

#[test]
fn fifos_devices_and_huge_files_are_not_read() {
    let machine = machine("/sys/block/sda/size = 8\n");
    let dir = machine.dir.path();
    fs::create_dir_all(dir.join("proc/sys/kernel")).unwrap();
    let fifo = dir.join("proc/sys/kernel/hostname");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for path in ["proc/meminfo", "sys/firmware/dmi/tables/DMI", "netlink.json", "proc/cpuinfo", "dev/sda"] {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Sparse: a terabyte that takes no room.
        fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
    }
    let found = inventory(&machine.root);
    assert_eq!(found.hostname, "");
    assert_eq!(found.memory.unwrap().usable_bytes, 0);
    assert_eq!(host_id(&machine.root).to_string(), "deaddead-dead-dead-dead-deaddeaddead");
}

#[test]
fn names_that_are_not_text_are_left_out() {
    let machine = machine("/sys/block/sda/size = 8\n");
    let name = OsStr::from_bytes(b"sd\xff\xfe");
    fs::create_dir(machine.dir.path().join("sys/block").join(name)).unwrap();
    fs::write(machine.dir.path().join("sys/block/sda/dev"), "8:0/../../../etc/passwd").unwrap();
    let found = inventory(&machine.root);
    assert_eq!(found.disks.unwrap().len(), 1);
}

#[test]
fn fifteen_thousand_disks_are_all_told() {
    const DISKS: usize = 15_000;
    // In memory where possible: what takes long is to make the tree.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let block = dir.path().join("sys/block");
    let device = dir.path().join("sys/devices/disk");
    fs::create_dir_all(&block).unwrap();
    fs::create_dir_all(&device).unwrap();
    fs::write(device.join("size"), "8").unwrap();
    for number in 0..DISKS {
        symlink("../devices/disk", block.join(format!("sd{number}"))).unwrap();
    }
    let disks = inventory(&Root::captured(dir.path()).unwrap()).disks.unwrap();
    assert_eq!(disks.len(), DISKS);
    assert!(disks.iter().all(|disk| disk.size_bytes == 4096 && disk.installation_eligibility.eligible));
}

#[test]
fn hostile_names_stay_names() {
    let machine = machine("");
    let block = machine.dir.path().join("sys/block");
    let long = format!("sd{}", "x".repeat(253));
    let hostile =
        ["sd\n\"};rm -rf .;`id`$(id)", "sd\u{202e}\u{1b}[31m", "sd -rf", "cciss!c0d0", ".hidden", &long];
    for name in hostile {
        fs::create_dir_all(block.join(name)).unwrap();
    }
    let found = inventory(&machine.root);
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<assisted_wire::inventory::Inventory>(&text).unwrap(), found);
    let mut names: Vec<_> = found.disks.unwrap().into_iter().map(|disk| disk.name).collect();
    let mut expected = hostile.map(str::to_owned);
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
}

#[test]
fn endless_udev_records_are_bounded() {
    let machine = machine(
        "/sys/block/sda/size = 8\n/sys/block/sda/dev = 8:0\n/sys/block/sdb/size = 8\n/sys/block/sdb/dev = 8:16\n",
    );
    let data = machine.dir.path().join("run/udev/data");
    fs::create_dir_all(&data).unwrap();
    let long = "m".repeat(100_000);
    fs::write(data.join("b8:0"), format!("E:ID_MODEL={long}\nE:ID_SERIAL=short\n")).unwrap();
    fs::File::create(data.join("b8:16")).unwrap().set_len(1 << 40).unwrap();
    let disks = inventory(&machine.root).disks.unwrap();
    assert_eq!((disks[0].model.as_str(), disks[0].serial.as_str()), ("", "short"));
    assert_eq!(disks[1].serial, "");
}

#[test]
fn an_endless_attribute_is_no_fact() {
    let link = r#"{"links": [{"index": 2, "name": "eth0"}]}"#;
    let long = "v".repeat(5_000);
    let sys = "/sys/class/net/eth0/device";
    let machine = machine(&format!("/netlink.json = {link}\n{sys}/vendor = {long}\n{sys}/device = 0x1572\n"));
    let interfaces = inventory(&machine.root).interfaces.unwrap();
    assert_eq!((interfaces[0].vendor.as_str(), interfaces[0].product.as_str()), ("", "0x1572"));
}

#[test]
fn a_missing_tree_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Root::captured(&dir.path().join("nothing")).is_err());
}
