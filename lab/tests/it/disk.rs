//! What an installation leaves: a disk that firmware boots, with the system that the config asked for.

use std::time::Duration;

use assisted_lab::machine::{Boot, Disk, Firmware, Link, Nic, Spec};
use serde_json::{Value, json};

use crate::service::Service;

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

/// The installer's own command (installer-and-controller §A10), then a restart.
const INSTALL: &str = r#"#!/bin/bash
exec >/dev/console 2>&1
for source in / /sysroot /usr /var/lib/containers; do findmnt -no TARGET,FSTYPE "$source"; done
printf '\n%s\n' "$(podman info --format 'containers: {{.Store.GraphDriverName}}')"
coreos-installer install --insecure -i /etc/target.ign --copy-network --append-karg lab.two=2 /dev/vda \
    && echo "the disk is written" && systemctl reboot
"#;

fn data(text: &str) -> Value {
    let text: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    json!({ "source": format!("data:,{text}") })
}

fn file(path: &str, mode: u32, text: &str) -> Value {
    json!({ "path": path, "mode": mode, "contents": data(text) })
}

fn unit(name: &str, run: &str) -> Value {
    let text = format!(
        "[Unit]\nAfter=network-online.target lab-firstboot-complete.service\nWants=network-online.target\n[Service]\nType=oneshot\nExecStart={run}\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    json!({ "name": name, "enabled": true, "contents": text })
}

fn config(files: &[Value], unit: &Value) -> String {
    json!({
        "ignition": { "version": "3.2.0" },
        "storage": { "files": files },
        "systemd": { "units": [unit] },
    })
    .to_string()
}

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
fn an_installed_disk_boots_on_both_firmwares_with_its_config_and_its_network() {
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
    ];
    let infra_env = service.infra_env("disk", &arguments);
    let mut spec = Spec::new("disk", Firmware::Uefi, Boot::Cd(service.download(&infra_env)));
    spec.disks = vec![Disk { bytes: 10 << 30 }];
    spec.nics = vec![Nic { mac: "52:54:00:00:00:01".to_owned(), link: Link::Alone(2) }];
    let mut machine = service.machine(&spec);
    machine.wait_for("the disk is written", BOOT).unwrap();
    let live = machine.console().text();
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
