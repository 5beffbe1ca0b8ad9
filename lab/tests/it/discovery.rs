//! What counts: a machine boots the image that a person downloads, and appears at the service with its hardware.

use std::path::Path;
use std::time::Duration;

use assisted_lab_machines::machine::{Boot, Disk, Firmware, Link, Nic, Spec};
use serde_json::{Value, json};

use crate::service::Service;
use crate::support::{coreos_installer, text};

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
fn a_machine_that_boots_the_minimal_image_from_a_stick_on_bios_has_its_static_network() {
    let service = Service::start();
    service.file("networks.yaml", NETWORKS);
    let arguments = ["--image-type", "minimal-iso", "--static-network-file", "networks.yaml"];
    let infra_env = service.infra_env("minimal", &arguments);
    let iso = service.download(&infra_env);
    assert!(std::fs::metadata(&iso).unwrap().len() < 100 << 20);
    let mut machine = service.machine(&spec_with_networks("minimal", Firmware::Bios, Boot::Usb(iso)));
    let (_, inventory) = service.discovered(&infra_env, &mut machine);
    has_static_networks(&inventory);
    assert_eq!(inventory["boot"]["current_boot_mode"], "bios");
    assert!(command_line(&inventory).contains("coreos.live.rootfs_url="), "{inventory:#}");
}

/// As a CD an image is found by another way than as a stick; that the initramfs takes the network tells that it was. A minimal
/// one on UEFI is installed by the tests with management controllers.
#[test]
fn everything_that_is_a_cd_is_found() {
    let service = Service::start();
    for kind in ["minimal-iso", "full-iso"] {
        let iso = service.download(&service.infra_env(kind, &["--image-type", kind]));
        for firmware in [Firmware::Bios, Firmware::Uefi] {
            let mut machine =
                service.machine(&spec(&format!("{kind}-{firmware:?}"), firmware, Boot::Cd(iso.clone())));
            machine.wait_for("coreos-copy-firstb", Duration::from_secs(600)).unwrap();
        }
    }
}

#[test]
fn everything_a_machine_that_boots_the_full_image_from_a_stick_on_bios_has_its_static_network() {
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
fn everything_that_a_user_changes_in_a_minimal_image_is_there_on_uefi() {
    let service = Service::start();
    let infra_env = service.infra_env("changed", &["--image-type", "minimal-iso"]);
    let iso = service.download(&infra_env);
    customise(&service, &iso);
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
fn everything_a_machine_that_boots_over_the_network_is_discovered() {
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
    assert_eq!(inventory["hostname"], "ipxe", "DHCP gives it");
    assert!(command_line(&inventory).contains("coreos.live.rootfs_url="), "{inventory:#}");
}
