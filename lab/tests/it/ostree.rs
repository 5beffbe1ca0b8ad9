//! The image for image mode in a machine with a kernel of its own: what is laid onto its disk is ostree's, an image that was built from the
//! release's is deployed over it by the commands that the installer gives, and the machine starts in it.

use std::process::Command;
use std::time::Duration;

use assisted_lab_machines::image::{Image, Kind};
use assisted_lab_machines::machine::{Boot, Disk, Firmware, Machine, Spec};
use assisted_testkit::{Access, DockerRegistry};
use serde_json::Value;

use crate::support::ignition::{config, file, unit};
use crate::support::{coreos_installer, run, text};

/// A boot, or an image that is laid out, without KVM and on a busy computer.
const BOOT: Duration = Duration::from_secs(1500);

/// The live system writes the disk, and lays the image over it: `IMAGE` stands for it. The commands from `mount` on are the installer's.
const INSTALL: &str = r#"#!/bin/bash
exec >/dev/console 2>&1
# In the words of an initramfs that gives up, on which whoever waits ends.
trap 'echo "Entering emergency mode: the installation has failed"' ERR
set -ex
coreos-installer install --insecure -i /etc/target.ign /dev/vda
mount /dev/vda4 /mnt
mount /dev/vda3 /mnt/boot
growpart /dev/vda 4
xfs_growfs /mnt
setenforce 0
ostree container image deploy --sysroot /mnt --authfile /etc/auth.json --imgref ostree-unverified-registry:IMAGE \
    --karg ignition.platform.id=metal --karg '$ignition_firstboot' --stateroot rhcos
for point in /mnt/boot /mnt; do
    fsfreeze --freeze $point
    umount $point
done
echo "the image is on the disk"
systemctl reboot
"#;

/// What the installed system tells at its first start.
const TELL: &str = r#"#!/bin/bash
tell() {
    target=$(grep -o 'ostree=[^ ]*' /proc/cmdline)
    echo "nonce: $(cat /usr/share/ocl-nonce)"
    echo "origin: $(sed -n 's/^container-image-reference=//p' "$(readlink -f "/sysroot${target#ostree=}").origin")"
    echo "entries: $(ls /boot/loader/entries | tr '\n' ' ')"
    echo "usr: $(findmnt --noheadings --output OPTIONS --target /usr | cut -d, -f1)"
    echo "var: $(cat /var/lib/lab/kept) home: $(stat -c %U /var/home/core)"
    echo "root: $(findmnt -no FSTYPE /sysroot) $(findmnt -bno SIZE /sysroot)"
    echo "first: $(grep -c ignition.firstboot /proc/cmdline) firmware: $(test -d /sys/firmware/efi && echo uefi || echo bios)"
    echo "failed: $(systemctl --failed --no-legend --plain | tr '\n' ';')"
    echo "the disk has told"
}
printf '\n%s\n' "$(tell 2>&1)" >/dev/console
"#;

fn told<'a>(console: &'a str, what: &str) -> &'a str {
    let line = console.lines().rev().find_map(|line| line.strip_prefix(what));
    line.unwrap_or_else(|| panic!("no {what:?} in:\n{console}"))
}

/// podman with a storage of its own.
fn podman(dir: &std::path::Path) -> Command {
    let mut podman = Command::new("podman");
    podman.arg("--root").arg(dir.join("storage")).arg("--runroot").arg(dir.join("run"));
    podman.args(["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]);
    // What tests run in may be no more than namespaces itself.
    podman.env("BUILDAH_ISOLATION", "chroot");
    podman
}

#[test]
fn everything_ostree_deploys_a_built_image_and_the_machine_starts_in_it() {
    let image = Image::find(Kind::Ostree).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // Nobody can have guessed it.
    let nonce = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap().trim().to_owned();

    // The release's image, and one that is built from it as the builder's Containerfile is.
    std::fs::create_dir(path("images")).unwrap();
    let registry = DockerRegistry::start(&path("images"), &Access::default()).unwrap();
    let (base, built) = (format!("{}/os:base", registry.name()), format!("{}/os:built", registry.name()));
    let from = format!("oci:{}", text(&image.os_image()));
    run(Command::new("skopeo").args(["copy", "--dest-tls-verify=false", &from, &format!("docker://{base}")]));
    std::fs::create_dir(path("context")).unwrap();
    let steps = format!("RUN echo {nonce} > /usr/share/ocl-nonce && ostree container commit");
    let text_of_file = format!("FROM {base} AS configs\nFROM configs AS final\n{steps}\n");
    std::fs::write(path("context/Containerfile"), text_of_file).unwrap();
    run(podman(dir.path()).args(["build", "--tls-verify=false", "--tag", &built]).arg(path("context")));
    let digest = path("digest");
    run(podman(dir.path()).args(["push", "--tls-verify=false", "--digestfile", text(&digest), &built]));
    let digest = std::fs::read_to_string(digest).unwrap().trim().to_owned();
    let port = registry.address().port();
    let reference = format!("10.0.2.2:{port}/os@{digest}");

    // Nothing that the machine is configured with has the number.
    let hostname: Value = serde_json::from_str(
        r#"{"path": "/etc/hostname", "mode": 420, "overwrite": true, "contents": {"source": "data:,layered-0"}}"#,
    )
    .unwrap();
    let target = config(
        &[hostname, file("/usr/local/bin/tell", 0o755, TELL), file("/var/lib/lab/kept", 0o644, "kept")],
        &unit("tell.service", "/usr/local/bin/tell"),
    );
    assert!(!target.contains(&nonce));
    let insecure = format!("[[registry]]\nlocation = \"10.0.2.2:{port}\"\ninsecure = true\n");
    let live = config(
        &[
            file("/etc/target.ign", 0o600, &target),
            file("/etc/auth.json", 0o600, "{\"auths\": {}}"),
            file("/etc/containers/registries.conf.d/test.conf", 0o644, &insecure),
            file("/usr/local/bin/install", 0o755, &INSTALL.replace("IMAGE", &reference)),
        ],
        &unit("install.service", "/usr/local/bin/install"),
    );
    let (ignition, iso) = (path("live.ign"), path("live.iso"));
    std::fs::write(&ignition, live).unwrap();
    coreos_installer([
        "iso",
        "ignition",
        "embed",
        "-i",
        text(&ignition),
        "-o",
        text(&iso),
        text(&image.iso()),
    ]);

    let mut spec = Spec::new("layered", Firmware::Bios, Boot::Cd(iso));
    spec.memory_mib = 4096;
    spec.disks = vec![Disk { bytes: 12 << 30 }];
    let mut machine = Machine::start(&spec, &path("layered")).unwrap();
    machine.wait_for("the image is on the disk", BOOT).unwrap();
    machine.wait_for("the disk has told", BOOT).unwrap();
    let console = machine.console().text();
    assert_eq!(told(&console, "nonce: "), nonce);
    assert_eq!(told(&console, "origin: "), format!("ostree-unverified-registry:{reference}"));
    // What was written first stays as the second entry.
    assert_eq!(told(&console, "entries: "), "ostree-1-rhcos.conf ostree-2-rhcos.conf ");
    assert_eq!(told(&console, "usr: "), "ro");
    assert_eq!(told(&console, "var: "), "kept home: core");
    assert_eq!(told(&console, "failed: "), "");
    let size: u64 = told(&console, "root: ").strip_prefix("xfs ").unwrap().parse().unwrap();
    assert!(size > 11 << 30, "the root has grown to {size} bytes");
    assert_eq!(told(&console, "first: "), "1 firmware: bios");
    machine.power_off(Duration::from_secs(300)).unwrap();

    // Again, on the other firmware, without anything else to boot: the same system, and not for the first time.
    spec.firmware = Firmware::Uefi;
    spec.boot = Boot::Disk;
    let mut machine = Machine::start(&spec, &path("layered")).unwrap();
    machine.wait_for("the disk has told", BOOT).unwrap();
    let console = machine.console().text();
    assert_eq!(told(&console, "first: "), "0 firmware: uefi");
    assert_eq!(told(&console, "nonce: "), nonce);
}
