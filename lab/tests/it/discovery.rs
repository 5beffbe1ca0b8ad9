//! What counts: a machine boots the image that a person downloads, and appears at the service with its hardware.

use std::path::Path;
use std::time::Duration;

use assisted_lab::machine::{Boot, Disk, Firmware, Link, Nic, Spec};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{coreos_installer, text};

/// What a machine tells once it is up; on the console, not on its line, which a login that begins hangs up. Then the installer
/// gets a disk that is part of an array with logical volumes on it; it frees the disk, and ends since it has no id to fetch a
/// config by.
const TELL: &str = r#"#!/bin/bash
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
echo "lab is done"
"#;

/// A config that is laid over the image's: a file, a user, a unit.
fn overlay() -> String {
    let unit =
        "[Service]\nType=oneshot\nExecStart=/usr/local/bin/lab-tell\n[Install]\nWantedBy=multi-user.target\n";
    let script = TELL.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let file = json!({
        "path": "/usr/local/bin/lab-tell", "mode": 0o755, "contents": { "source": format!("data:,{script}") },
    });
    json!({
        "ignition": { "version": "3.2.0" },
        "passwd": { "users": [{ "name": "core", "groups": ["sudo"] }] },
        "storage": { "files": [file] },
        "systemd": { "units": [{ "name": "lab-tell.service", "enabled": true, "contents": unit }] },
    })
    .to_string()
}

/// Two network cards that have each other's names, with fixed addresses.
const NETWORKS: &str = "\
- mac_interface_map:
  - {mac_address: '52:54:00:00:00:01', logical_nic_name: enp0s4}
  - {mac_address: '52:54:00:00:00:02', logical_nic_name: enp0s3}
  network_yaml: |
    interfaces:
    - name: enp0s4
      type: ethernet
      state: up
      ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.2.77, prefix-length: 24}]}
    - name: enp0s3
      type: ethernet
      state: up
      ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.3.78, prefix-length: 25}]}
    dns-resolver: {config: {server: [10.0.2.3]}}
    routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.2.2, next-hop-interface: enp0s4}]}
";

fn spec(name: &str, firmware: Firmware, boot: Boot) -> Spec {
    let mut spec = Spec::new(name, firmware, boot);
    spec.disks = vec![Disk { bytes: 20 << 30 }];
    spec
}

/// The same, with the two cards of [`NETWORKS`].
fn spec_with_networks(name: &str, firmware: Firmware, boot: Boot) -> Spec {
    let mut spec = spec(name, firmware, boot);
    spec.nics.push(Nic { mac: "52:54:00:00:00:02".to_owned(), link: Link::Alone(3) });
    spec
}

/// As a CD an image is found by another way than as a stick; that the initramfs takes the network tells that it was.
fn is_found_as_cd(service: &Service, firmware: Firmware, iso: &Path) {
    let mut machine = service.machine(&spec("cd", firmware, Boot::Cd(iso.to_owned())));
    machine.wait_for("coreos-copy-firstb", Duration::from_secs(600)).unwrap();
}

/// IPv4 addresses of a network card.
fn addresses<'a>(inventory: &'a Value, mac: &str) -> Vec<&'a str> {
    let cards = inventory["interfaces"].as_array().unwrap().iter().filter(|card| card["mac_address"] == mac);
    let addresses = cards.flat_map(|card| card["ipv4_addresses"].as_array().unwrap());
    addresses.map(|address| address.as_str().unwrap()).collect()
}

fn has_static_networks(inventory: &Value) {
    assert_eq!(addresses(inventory, "52:54:00:00:00:01"), ["10.0.2.77/24"], "{inventory:#}");
    assert_eq!(addresses(inventory, "52:54:00:00:00:02"), ["10.0.3.78/25"], "{inventory:#}");
    let routes = inventory["routes"].as_array().unwrap();
    assert!(routes.iter().any(|route| route["gateway"] == "10.0.2.2"), "{inventory:#}");
}

fn command_line(inventory: &Value) -> &str {
    inventory["boot"]["command_line"].as_str().unwrap().trim_end()
}

#[test]
fn a_machine_that_boots_the_full_image_from_a_stick_on_uefi_is_discovered() {
    let service = Service::start();
    service.file("overlay.ign", &overlay());
    let arguments = ["--kernel-argument", "lab.one=1", "--ignition-override-file", "overlay.ign"];
    let infra_env = service.infra_env("full", &[&["--image-type", "full-iso"], &arguments[..]].concat());
    let iso = service.download(&infra_env);
    let inside = service.json(&["iso", "inspect", iso.to_str().unwrap()]);
    assert_eq!(inside["ignition"]["config"]["infra_env_id"], infra_env["id"], "{inside:#}");
    let mut spec = spec("full", Firmware::Uefi, Boot::Usb(iso));
    spec.disks.extend([Disk { bytes: 1 << 30 }, Disk { bytes: 1 << 30 }]);
    let mut machine = service.machine(&spec);
    let (host, inventory) = service.discovered(&infra_env, &mut machine);
    assert_eq!(host["id"], spec.uuid.to_string(), "{host:#}");
    assert_eq!(addresses(&inventory, "52:54:00:00:00:01"), ["10.0.2.15/24"]);
    assert_eq!(inventory["hostname"], "full");
    assert_eq!(inventory["boot"]["current_boot_mode"], "uefi");
    assert!(command_line(&inventory).ends_with(" lab.one=1"), "{inventory:#}");
    let disk = inventory["disks"].as_array().unwrap().iter().find(|disk| disk["name"] == "vda").unwrap();
    assert_eq!(disk["size_bytes"], 20_u64 << 30, "{inventory:#}");
    machine.wait_for("lab is done", Duration::from_secs(600)).unwrap();
    let console = machine.console().text();
    for line in [
        "user: core sudo\n",
        "usr: read-only\n",
        "tools: coreos-installer ",
        "before: disk raid1 lvm \n",
        "after: disk \n",
        "volume groups: '' signatures: ''\n",
    ] {
        assert!(console.contains(line), "no {line:?} in:\n{}", machine.console().tail());
    }
    machine.power_off(Duration::from_secs(120)).unwrap();
}

#[test]
fn a_machine_that_boots_the_minimal_image_from_a_stick_on_bios_has_its_static_network() {
    let service = Service::start();
    service.file("networks.yaml", NETWORKS);
    let arguments = ["--image-type", "minimal-iso", "--static-network-file", "networks.yaml"];
    let infra_env = service.infra_env("minimal", &arguments);
    let iso = service.download(&infra_env);
    assert!(std::fs::metadata(&iso).unwrap().len() < 100 << 20);
    is_found_as_cd(&service, Firmware::Bios, &iso);
    let mut machine = service.machine(&spec_with_networks("minimal", Firmware::Bios, Boot::Usb(iso)));
    let (_, inventory) = service.discovered(&infra_env, &mut machine);
    has_static_networks(&inventory);
    assert_eq!(inventory["boot"]["current_boot_mode"], "bios");
    assert!(command_line(&inventory).contains("coreos.live.rootfs_url="), "{inventory:#}");
}

#[test]
fn a_machine_that_boots_the_full_image_from_a_stick_on_bios_has_its_static_network() {
    let service = Service::start();
    service.file("networks.yaml", NETWORKS);
    let arguments = ["--image-type", "full-iso", "--static-network-file", "networks.yaml"];
    let infra_env = service.infra_env("stick", &arguments);
    let boot = Boot::Usb(service.download(&infra_env));
    let mut machine = service.machine(&spec_with_networks("stick", Firmware::Bios, boot));
    let (_, inventory) = service.discovered(&infra_env, &mut machine);
    has_static_networks(&inventory);
}

/// The network of a machine's first card, as NetworkManager keeps it.
const KEYFILE: &str = "[connection]\nid=lab\ntype=ethernet\n\n[ethernet]\nmac-address=52:54:00:00:00:01\n\n[ipv4]\nmethod=manual\n\
                       address1=10.0.2.99/24,10.0.2.2\ndns=10.0.2.3;\n\n[ipv6]\nmethod=disabled\n";

/// Changes an image as its user may: kernel arguments, network, host name.
fn customise(service: &Service, iso: &Path) {
    service.file("lab.nmconnection", KEYFILE);
    let file = |name: &str| service.dir.path().join(name);
    coreos_installer(["iso", "kargs", "modify", "--append", "lab.two=2", text(iso)]);
    coreos_installer(["iso", "network", "embed", "--keyfile", text(&file("lab.nmconnection")), text(iso)]);
    let mut config: Value =
        serde_json::from_slice(&coreos_installer(["iso", "ignition", "show", text(iso)])).unwrap();
    let name =
        json!({ "path": "/etc/hostname", "mode": 0o644, "contents": { "source": "data:,embedded%0A" } });
    config["storage"]["files"].as_array_mut().unwrap().push(name);
    service.file("changed.ign", &config.to_string());
    let changed = file("changed.ign");
    coreos_installer(["iso", "ignition", "embed", "--force", "--ignition-file", text(&changed), text(iso)]);
}

#[test]
fn a_machine_that_boots_a_minimal_image_that_its_user_changed_is_discovered_on_uefi() {
    let service = Service::start();
    let infra_env = service.infra_env("changed", &["--image-type", "minimal-iso"]);
    let iso = service.download(&infra_env);
    customise(&service, &iso);
    is_found_as_cd(&service, Firmware::Uefi, &iso);
    let mut machine = service.machine(&spec("changed", Firmware::Uefi, Boot::Usb(iso)));
    let (_, inventory) = service.discovered(&infra_env, &mut machine);
    assert_eq!(addresses(&inventory, "52:54:00:00:00:01"), ["10.0.2.99/24"], "{inventory:#}");
    assert_eq!(inventory["hostname"], "embedded");
    assert_eq!(inventory["boot"]["current_boot_mode"], "uefi");
    let arguments = command_line(&inventory);
    assert!(
        arguments.contains("coreos.live.rootfs_url=") && arguments.ends_with(" lab.two=2"),
        "{arguments}"
    );
}

#[test]
fn a_machine_that_boots_over_the_network_is_discovered() {
    let service = Service::start();
    // The script's own console is that of boards.
    let infra_env = service.infra_env("ipxe", &["--kernel-argument", "console=ttyS0,115200n8"]);
    // It leads to the script that boots, with the address of the card that asks.
    let query = "file_name=ipxe-script&ipxe_script_type=boot-order-control";
    let script = service.infra_env_file(&infra_env, query);
    let tftp = service.dir.path().join("tftp");
    std::fs::create_dir(&tftp).unwrap();
    std::fs::write(tftp.join("boot.ipxe"), script).unwrap();
    let boot = Boot::Network { tftp, file: "boot.ipxe".to_owned() };
    let mut machine = service.machine(&spec("ipxe", Firmware::Bios, boot));
    let (_, inventory) = service.discovered(&infra_env, &mut machine);
    assert_eq!(addresses(&inventory, "52:54:00:00:00:01"), ["10.0.2.15/24"]);
    assert!(command_line(&inventory).contains("coreos.live.rootfs_url="), "{inventory:#}");
}
