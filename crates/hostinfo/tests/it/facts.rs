//! What a person has read out of each fixture, in its facts.txt, is what the inventory says. The whole inventories, which are written by what
//! they judge, only keep the rest from changing unseen.

use std::collections::BTreeSet;

use assisted_hostinfo::inventory;
use assisted_wire::inventory::{Disk, Interface, Inventory};

use crate::{fixture, fixtures};

/// A line of facts; what is not there is a dash.
fn line(cells: &[&str]) -> String {
    cells.iter().map(|cell| if cell.is_empty() { "-" } else { cell }).collect::<Vec<_>>().join(" | ")
}

fn disk(disk: &Disk) -> String {
    let kind = disk.drive_type.map(|kind| kind.to_string()).unwrap_or_default();
    let place = disk.by_path.strip_prefix("/dev/disk/by-path/").unwrap_or(&disk.by_path);
    let eligible = if disk.installation_eligibility.eligible { "yes" } else { "no" };
    line(&["disk", &disk.name, &kind, &disk.size_bytes.to_string(), place, eligible])
}

fn interface(interface: &Interface) -> String {
    let lists = [&interface.ipv4_addresses, &interface.ipv6_addresses];
    let addresses: Vec<&str> = lists.into_iter().flatten().flatten().map(String::as_str).collect();
    let carrier = if interface.has_carrier { "up" } else { "down" };
    let (mtu, speed) = (interface.mtu.to_string(), interface.speed_mbps.to_string());
    let Interface { name, r#type, mac_address, .. } = interface;
    line(&["interface", name, r#type, mac_address, &mtu, &speed, carrier, &addresses.join(" ")])
}

/// The same facts out of an inventory.
fn facts_of(found: &Inventory) -> BTreeSet<String> {
    let cpu = found.cpu.as_ref().unwrap();
    let memory = found.memory.as_ref().unwrap();
    let boot = found.boot.as_ref().unwrap();
    let system = found.system_vendor.as_ref().unwrap();
    let secure = boot.secure_boot_state.map(|state| state.to_string()).unwrap_or_default();
    let mut lines = BTreeSet::from([
        line(&["cpus", &cpu.count.to_string(), &cpu.architecture, &cpu.model_name]),
        line(&["memory", &memory.physical_bytes.to_string(), &memory.usable_bytes.to_string()]),
        line(&["boot", &boot.current_boot_mode, &secure]),
        line(&["system", &system.manufacturer, &system.product_name, &system.serial_number]),
        line(&["hostname", &found.hostname]),
    ]);
    lines.extend(found.disks.iter().flatten().map(disk));
    lines.extend(found.interfaces.iter().flatten().map(interface));
    lines
}

#[test]
fn inventories_say_what_a_person_has_read() {
    let mut machines = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let facts = std::fs::read_to_string(fixtures().join(&name).join("facts.txt")).unwrap();
        let facts = facts.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let facts: BTreeSet<String> = facts.map(str::to_owned).collect();
        let told = facts_of(&inventory(&fixture(&name).root));
        let differ: Vec<_> = facts.symmetric_difference(&told).collect();
        assert_eq!(differ, Vec::<&String>::new(), "{name}");
        machines += 1;
    }
    assert!(machines >= 7, "{machines} machines");
}
