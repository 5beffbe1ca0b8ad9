//! A machine from the image that a person downloads to the disk that firmware boots, with the system that the config asked for.

use std::time::Duration;

use assisted_lab_machines::machine::{Boot, Disk, Firmware, Link, Nic, Spec};
use serde_json::json;

use crate::service::Service;
use crate::support::ignition::{config, file, unit};

/// A boot, or a disk that is written, without KVM and on a busy computer.
const BOOT: Duration = Duration::from_secs(900);

/// What the installed system tells at each start; on the console, not on its line, which a login that begins hangs up. All
/// at once and on lines of its own: systemd leaves a line open while it shows what it waits for.
const TELL: &str = r#"#!/bin/bash
tell() {
    echo "name: $(hostname)"
    echo "root: $(findmnt -no SOURCE,FSTYPE /) $(findmnt -bno SIZE / | tr -d ' ')"
    echo "usr: $(findmnt -no OPTIONS /usr | cut -d, -f1)"
    nm-online -q -t 120
    echo "address: $(ip -4 -o address show scope global | tr -s ' ' | cut -d ' ' -f 4 | tr '\n' ' ')"
    echo "firmware: $(test -d /sys/firmware/efi && echo uefi || echo bios)"
    echo "first: $(grep -c ignition.firstboot /proc/cmdline) argument: $(grep -o 'lab.two=2' /proc/cmdline)"
    echo "identity: $(cat /etc/machine-id)"
    podman info --format 'containers: {{.Store.GraphDriverName}}'
    echo "the disk has told"
}
printf '\n%s\n' "$(tell 2>&1)" >/dev/console
"#;

/// What the live system tells. Then the installer gets a disk that is part of an array with logical volumes on it; it frees the
/// disk, and ends since it has no id to fetch a config by. In the end the installer's own command (installer-and-controller §A10)
/// writes another disk, and the machine restarts.
const INSTALL: &str = r#"#!/bin/bash
exec >/dev/console 2>&1
echo "user: $(id -nG core)"
touch /usr/lab 2>/dev/null && echo "usr: writable" || echo "usr: read-only"
echo "tools: $(coreos-installer --version)"
mdadm --create /dev/md/lab --run --metadata=1.2 --level=1 --raid-devices=2 /dev/vdb /dev/vdc
vgcreate --yes lab /dev/md/lab
lvcreate --yes --size 64M --name data lab
echo "before: $(lsblk --raw --noheadings --output TYPE /dev/vdb | tr '\n' ' ')"
/usr/local/bin/assisted-installer --cluster-id 856f4f9c-3c08-4d97-8ec7-ea0ad7d4cadf --boot-device /dev/vdb --url http://10.0.2.2:1
echo "after: $(lsblk --raw --noheadings --output TYPE /dev/vdb | tr '\n' ' ')"
echo "volume groups: '$(vgs --noheadings)' signatures: '$(wipefs --noheadings /dev/vdb)'"
for source in / /sysroot /usr /var/lib/containers; do findmnt -no TARGET,FSTYPE "$source"; done
printf '\n%s\n' "$(podman info --format 'containers: {{.Store.GraphDriverName}}')"
coreos-installer install --insecure -i /etc/target.ign --copy-network --append-karg lab.two=2 /dev/vda \
    && echo "the disk is written" && systemctl reboot
"#;

const NETWORK: &str = "\
- mac_interface_map: [{mac_address: '52:54:00:00:00:01', logical_nic_name: nic0}]
  network_yaml: |
    interfaces:
    - name: nic0
      type: ethernet
      state: up
      ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.2.77, prefix-length: 24}]}
    dns-resolver: {config: {server: [10.0.2.3]}}
    routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: nic0}]}
";

fn told<'a>(console: &'a str, what: &str) -> &'a str {
    let line = console.lines().rev().find_map(|line| line.strip_prefix(what));
    line.unwrap_or_else(|| panic!("no {what:?} in:\n{console}"))
}

#[test]
fn everything_of_a_full_image_on_a_stick_up_to_its_disk_on_both_firmwares() {
    let service = Service::start();
    let target = config(
        &[file("/etc/hostname", 0o644, "installed-0"), file("/usr/local/bin/tell", 0o755, TELL)],
        &unit("tell.service", "/usr/local/bin/tell"),
    );
    let files = [file("/etc/target.ign", 0o600, &target), file("/usr/local/bin/install", 0o755, INSTALL)];
    service.file("overlay.ign", &config(&files, &unit("install.service", "/usr/local/bin/install")));
    service.file("network.yaml", NETWORK);
    let arguments = [
        "--image-type",
        "full-iso",
        "--ignition-override-file",
        "overlay.ign",
        "--static-network-file",
        "network.yaml",
        "--kernel-argument",
        "lab.one=1",
    ];
    let infra_env = service.infra_env("disk", &arguments);
    // From here on with TLS and tokens: the image carries the authority and the token.
    let service = service.secured(&infra_env);
    let iso = service.download(&infra_env);
    let inside = service.json(&["iso", "inspect", iso.to_str().unwrap()]);
    assert_eq!(inside["ignition"]["config"]["infra_env_id"], infra_env["id"], "{inside:#}");
    let mut spec = Spec::new("disk", Firmware::Uefi, Boot::Usb(iso));
    spec.disks = [10 << 30, 1 << 30, 1 << 30].map(|bytes| Disk { bytes }).into();
    spec.nics = vec![Nic { mac: "52:54:00:00:00:01".to_owned(), link: Link::Alone(2) }];
    let mut machine = service.machine(&spec);
    let (host, inventory) = service.discovered(&infra_env, &mut machine);
    assert_eq!(host["id"], spec.uuid.to_string(), "{host:#}");
    assert_eq!(inventory["boot"]["current_boot_mode"], "uefi");
    let cards = inventory["interfaces"].as_array().unwrap();
    let card = cards.iter().find(|card| card["mac_address"] == "52:54:00:00:00:01").unwrap();
    assert_eq!(card["ipv4_addresses"], json!(["10.0.2.77/24"]), "{inventory:#}");
    let arguments = inventory["boot"]["command_line"].as_str().unwrap().trim_end();
    assert!(arguments.ends_with(" lab.one=1"), "{inventory:#}");
    let disk = inventory["disks"].as_array().unwrap().iter().find(|disk| disk["name"] == "vda").unwrap();
    assert_eq!(disk["size_bytes"], 10_u64 << 30, "{inventory:#}");
    machine.wait_for("the disk is written", BOOT).unwrap();
    let live = machine.console().text();
    for line in [
        "user: core sudo\n",
        "usr: read-only\n",
        "tools: coreos-installer ",
        "before: disk raid1 lvm \n",
        "after: disk \n",
        "volume groups: '' signatures: ''\n",
    ] {
        assert!(live.contains(line), "no {line:?} in:\n{}", machine.console().tail());
    }
    assert_eq!(told(&live, "containers: "), "overlay", "{live}");
    // Nothing was downloaded: the image is the live system's own.
    assert!(live.contains("Installing Lab 418.94"), "{live}");

    // The firmware goes on with the disk by itself.
    machine.wait_for("the disk has told", BOOT).unwrap();
    let first = machine.console().text();
    assert_eq!(told(&first, "name: "), "installed-0");
    assert_eq!(told(&first, "usr: "), "ro");
    assert_eq!(told(&first, "address: ").trim(), "10.0.2.77/24");
    assert_eq!(told(&first, "firmware: "), "uefi");
    assert_eq!(told(&first, "first: "), "1 argument: lab.two=2");
    assert_eq!(told(&first, "containers: "), "overlay");
    let root = told(&first, "root: ");
    let size: u64 = root.strip_prefix("/dev/vda4 ext4 ").unwrap_or_else(|| panic!("{root}")).parse().unwrap();
    assert!(size > 9 << 30, "the root has grown to {size} bytes");
    machine.power_off(Duration::from_secs(300)).unwrap();

    // Again, on the other firmware, without anything else to boot.
    spec.firmware = Firmware::Bios;
    spec.boot = Boot::Disk;
    let mut machine = service.machine(&spec);
    machine.wait_for("the disk has told", BOOT).unwrap();
    let second = machine.console().text();
    assert_eq!(told(&second, "name: "), "installed-0");
    assert_eq!(told(&second, "address: ").trim(), "10.0.2.77/24");
    assert_eq!(told(&second, "firmware: "), "bios");
    assert_eq!(told(&second, "first: "), "0 argument: lab.two=2");
    assert_eq!(told(&second, "identity: "), told(&first, "identity: "));
}
