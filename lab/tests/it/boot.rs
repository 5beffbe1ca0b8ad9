//! The image in machines: the real Ignition applies configs, whatever the machine boots from.

use std::path::Path;
use std::time::Duration;

use assisted_lab::machine::{Boot, Firmware, Machine, Spec};
use serde_json::{Value, json};

use crate::support::{BOOT, Web, coreos_installer, image, text};

/// What a machine does with its config: tells on its console what it finds.
const SCRIPT: &str = r#"#!/bin/bash
exec >/dev/ttyS0 2>&1
echo "file: $(cat /etc/lab)"
echo "fetched: $(cat /etc/lab-fetched)"
echo "user: $(id -nG core)"
echo "addresses: $(ip -4 -brief address show scope global | tr -s ' ')"
echo "connections: $(nmcli --get-values NAME,STATE connection show --active | tr '\n' ' ')"
touch /usr/lab 2>/dev/null && echo "usr: writable" || echo "usr: read-only"
echo "tools: $(coreos-installer --version)"
echo "lab is done"
"#;

/// A config with a file, one that is fetched, a user, and a unit.
fn config(web: &Web, fetched_sha512: &str) -> Value {
    let data = |content: &str| format!("data:;base64,{}", base64(content.as_bytes()));
    let unit = "[Unit]\nWants=network-online.target\nAfter=network-online.target\n\
                [Service]\nType=oneshot\nExecStart=/usr/local/bin/lab-tell\n[Install]\nWantedBy=multi-user.target\n";
    json!({
        "ignition": { "version": "3.2.0" },
        "passwd": { "users": [{ "name": "core", "groups": ["sudo"] }] },
        "storage": { "files": [
            { "path": "/etc/lab", "mode": 0o644, "contents": { "source": data("embedded") } },
            { "path": "/etc/lab-fetched", "mode": 0o644, "contents": {
                "source": web.url("fetched"),
                "verification": { "hash": format!("sha512-{fetched_sha512}") },
            } },
            { "path": "/usr/local/bin/lab-tell", "mode": 0o755, "contents": { "source": data(SCRIPT) } },
        ] },
        "systemd": { "units": [{ "name": "lab-tell.service", "enabled": true, "contents": unit }] },
    })
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn sha512(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha512::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A web server, and a config that needs it, in a file.
fn prepared(dir: &Path, more: Vec<(&'static str, std::path::PathBuf)>) -> (Web, std::path::PathBuf) {
    let fetched = dir.join("fetched");
    std::fs::write(&fetched, "over the network").unwrap();
    let web = Web::serve(more.into_iter().chain([("fetched", fetched)]).collect());
    let file = dir.join("config.ign");
    std::fs::write(&file, config(&web, &sha512(b"over the network")).to_string()).unwrap();
    (web, file)
}

/// Starts a machine and waits until it has told everything.
fn told(spec: &Spec, dir: &Path) -> (Machine, String) {
    let mut machine = Machine::start(spec, dir).unwrap();
    machine.wait_for("lab is done", BOOT).unwrap();
    let console = machine.console().text();
    for line in ["file: embedded\n", "fetched: over the network\n", "usr: read-only\n"] {
        assert!(console.contains(line), "no {line:?} in:\n{}", machine.console().tail());
    }
    assert!(console.contains("user: core sudo\n"), "{}", machine.console().tail());
    assert!(console.contains("tools: coreos-installer "), "{}", machine.console().tail());
    (machine, console)
}

fn embedded(dir: &Path, config: &Path) -> std::path::PathBuf {
    let iso = dir.join("custom.iso");
    let image = image().iso();
    coreos_installer(["iso", "ignition", "embed", "-i", text(config), "-o", text(&iso), text(&image)]);
    iso
}

#[test]
fn a_cd_boots_on_bios_and_the_machine_can_be_switched_off() {
    let dir = tempfile::tempdir().unwrap();
    let (_web, config) = prepared(dir.path(), Vec::new());
    let iso = embedded(dir.path(), &config);
    let spec = Spec::new("bios-cd", Firmware::Bios, Boot::Cd(iso));
    let (mut machine, console) = told(&spec, &dir.path().join("machine"));
    assert!(console.contains("addresses: enp0s2 UP 10.0.2.15/24"), "{}", machine.console().tail());
    machine.power_off(Duration::from_secs(120)).unwrap();
}

#[test]
fn a_cd_boots_on_uefi() {
    let dir = tempfile::tempdir().unwrap();
    let (_web, config) = prepared(dir.path(), Vec::new());
    let iso = embedded(dir.path(), &config);
    told(&Spec::new("uefi-cd", Firmware::Uefi, Boot::Cd(iso)), &dir.path().join("machine"));
}

#[test]
fn a_stick_boots_on_bios() {
    let dir = tempfile::tempdir().unwrap();
    let (_web, config) = prepared(dir.path(), Vec::new());
    let iso = embedded(dir.path(), &config);
    told(&Spec::new("bios-usb", Firmware::Bios, Boot::Usb(iso)), &dir.path().join("machine"));
}

#[test]
fn kernel_and_initramfs_fetch_the_root_with_the_network_that_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let image = image();
    let (web, config) = prepared(dir.path(), vec![("rootfs.img", image.rootfs())]);
    let keyfile = dir.path().join("nic.nmconnection");
    let address = "[connection]\nid=given\ntype=ethernet\n[ethernet]\nmac-address=52:54:00:00:00:01\n\
                   [ipv4]\nmethod=manual\naddress1=10.0.2.77/24,10.0.2.2\ndns=10.0.2.3;\n[ipv6]\nmethod=disabled\n";
    std::fs::write(&keyfile, address).unwrap();
    let mut initrd = std::fs::read(image.initrd()).unwrap();
    initrd.extend(coreos_installer(["pxe", "ignition", "wrap", "-i", text(&config)]));
    initrd.extend(coreos_installer(["pxe", "network", "wrap", "-k", text(&keyfile)]));
    let combined = dir.path().join("initrd.img");
    std::fs::write(&combined, initrd).unwrap();
    let arguments = format!(
        "coreos.live.rootfs_url={} ignition.firstboot ignition.platform.id=metal console=ttyS0,115200n8",
        web.url("rootfs.img")
    );
    let boot = Boot::Kernel { kernel: image.kernel(), initrd: combined, arguments };
    let (machine, console) = told(&Spec::new("pxe", Firmware::Bios, boot), &dir.path().join("machine"));
    assert!(console.contains("addresses: enp0s2 UP 10.0.2.77/24"), "{}", machine.console().tail());
    assert!(console.contains("connections: given:activated"), "{}", machine.console().tail());
    assert_eq!(web.asked().iter().filter(|path| *path == "rootfs.img").count(), 1);
}
