//! This machine, for real.

use std::fs;

use assisted_hostinfo::{Root, host_id, inventory};

#[test]
fn the_inventory_agrees_with_the_kernel() {
    let found = inventory(&Root::live());
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let total: i64 = meminfo.lines().next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    let memory = found.memory.unwrap();
    assert_eq!(memory.usable_bytes, total * 1024);
    assert!(memory.physical_bytes > 0);

    let cpu = found.cpu.unwrap();
    let online = std::thread::available_parallelism().unwrap().get();
    assert!(cpu.count >= i64::try_from(online).unwrap());
    assert_eq!(cpu.architecture, std::env::consts::ARCH);

    let mut kernel: Vec<String> = fs::read_dir("/sys/class/net")
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    kernel.sort();
    let interfaces = found.interfaces.unwrap();
    let mut names: Vec<_> = interfaces.iter().map(|interface| interface.name.clone()).collect();
    names.sort();
    assert_eq!(names, kernel);
    for interface in &interfaces {
        let mtu = fs::read_to_string(format!("/sys/class/net/{}/mtu", interface.name)).unwrap();
        assert_eq!(interface.mtu.to_string(), mtu.trim());
        let address = fs::read_to_string(format!("/sys/class/net/{}/address", interface.name)).unwrap();
        let is_member = fs::exists(format!("/sys/class/net/{}/master", interface.name)).unwrap();
        assert!(is_member || interface.mac_address.is_empty() || interface.mac_address == address.trim());
    }
    let lo = interfaces.iter().find(|interface| interface.name == "lo").unwrap();
    assert_eq!((lo.r#type.as_str(), lo.mac_address.as_str()), ("device", ""));

    let routes = fs::read_to_string("/proc/net/route").unwrap();
    let has_default = routes.lines().skip(1).any(|line| line.split_whitespace().nth(1) == Some("00000000"));
    assert_eq!(found.routes.unwrap().iter().any(|route| route.destination == "0.0.0.0"), has_default);
    for disk in found.disks.unwrap() {
        let sectors: i64 =
            fs::read_to_string(format!("/sys/block/{}/size", disk.name)).unwrap().trim().parse().unwrap();
        assert_eq!(disk.size_bytes, sectors * 512);
    }
}

#[test]
fn the_id_stays_the_same() {
    assert_eq!(host_id(&Root::live()), host_id(&Root::live()));
}
