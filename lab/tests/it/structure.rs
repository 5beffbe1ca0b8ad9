//! The image as tools see it: coreos-installer, xorriso, unsquashfs.

use std::io::{Read, Seek, SeekFrom};
use std::process::Command;

use serde_json::Value;

use crate::support::{coreos_installer, image, run, text};

/// Least sizes that image services take for real, in bytes (image-service §1.12).
const LEAST_ROOTFS: u64 = 100 << 20;
const LEAST_KERNEL: u64 = 5 << 20;

#[test]
fn coreos_installer_takes_the_iso_for_one_of_its_own() {
    let iso = image().iso();
    let shown: Value =
        serde_json::from_slice(&coreos_installer(["dev", "show", "iso", "--ignition", text(&iso)])).unwrap();
    assert_eq!(shown["length"], 262_144, "{shown:#}");
    let arguments = String::from_utf8(coreos_installer(["iso", "kargs", "show", text(&iso)])).unwrap();
    assert!(arguments.starts_with("coreos.liveiso=rhcos-lab-"), "{arguments}");
    assert!(arguments.contains(" ignition.firstboot ignition.platform.id=metal "), "{arguments}");
}

#[test]
fn configs_and_networks_go_in_and_come_out_and_a_reset_removes_them() {
    let dir = tempfile::tempdir().unwrap();
    let [config, keyfile, custom] =
        ["config.ign", "eth0.nmconnection", "custom.iso"].map(|name| dir.path().join(name));
    std::fs::write(&config, r#"{"ignition": {"version": "3.2.0"}}"#).unwrap();
    std::fs::write(&keyfile, "[connection]\nid=eth0\n").unwrap();
    let iso = image().iso();
    coreos_installer(["iso", "ignition", "embed", "-i", text(&config), "-o", text(&custom), text(&iso)]);
    coreos_installer(["iso", "network", "embed", "-k", text(&keyfile), text(&custom)]);
    coreos_installer(["iso", "kargs", "modify", "-a", "one=1", text(&custom)]);
    let shown: Value =
        serde_json::from_slice(&coreos_installer(["iso", "ignition", "show", text(&custom)])).unwrap();
    assert_eq!(shown["ignition"]["version"], "3.2.0");
    assert!(coreos_installer(["iso", "kargs", "show", text(&custom)]).ends_with(b" one=1\n"));
    coreos_installer(["iso", "reset", text(&custom)]);
    run(Command::new("cmp").arg(&custom).arg(&iso));
}

#[test]
fn it_boots_from_everything_and_its_label_is_its_own() {
    let iso = image().iso();
    let told = run(Command::new("xorriso")
        .args(["-indev", text(&iso), "-report_el_torito", "plain"])
        .args(["-report_system_area", "plain", "-pvd_info"]));
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(
        told.contains("El Torito boot img :   1  BIOS") && told.contains("El Torito boot img :   2  UEFI"),
        "{told}"
    );
    assert!(told.contains("MBR") && told.contains("GPT"), "{told}");
    assert!(told.contains("Volume Id    : rhcos-lab-"), "{told}");
}

#[test]
fn the_root_is_where_readers_look_and_large_enough_to_be_real() {
    let image = image();
    let mut rootfs = std::fs::File::open(image.rootfs()).unwrap();
    let size = rootfs.metadata().unwrap().len();
    assert!(
        size >= LEAST_ROOTFS && std::fs::metadata(image.kernel()).unwrap().len() >= LEAST_KERNEL,
        "{size}"
    );
    let mut magic = [0; 4];
    rootfs.seek(SeekFrom::Start(124)).unwrap();
    rootfs.read_exact(&mut magic).unwrap();
    assert_eq!(&magic, b"hsqs");
    let files = run(Command::new("unsquashfs").args(["-o", "124", "-ls", text(&image.rootfs())]).args([
        "usr/bin/coreos-installer",
        "usr/local",
        "usr/sbin/NetworkManager",
        "usr/lib/coreos-installer/osmet/metal.osmet",
        "etc/machine-id",
    ]));
    let files = String::from_utf8(files.stdout).unwrap();
    assert!(
        files.contains("usr/bin/coreos-installer") && files.contains("usr/sbin/NetworkManager"),
        "{files}"
    );
    // What it writes onto disks.
    assert!(files.contains("coreos-installer/osmet/metal.osmet"), "{files}");
    // A live system finds its identity at each start.
    assert!(!files.contains("machine-id"), "{files}");
}

#[test]
fn a_minimal_iso_can_be_made_from_it() {
    let dir = tempfile::tempdir().unwrap();
    let [minimal, rootfs] = ["minimal.iso", "rootfs.img"].map(|name| dir.path().join(name));
    let image = image();
    coreos_installer([
        "iso",
        "extract",
        "minimal-iso",
        text(&image.iso()),
        text(&minimal),
        "--output-rootfs",
        text(&rootfs),
        "--rootfs-url",
        "http://example.com/rootfs.img",
    ]);
    run(Command::new("cmp").arg(&rootfs).arg(image.rootfs()));
    let arguments = String::from_utf8(coreos_installer(["iso", "kargs", "show", text(&minimal)])).unwrap();
    assert!(arguments.contains(" coreos.live.rootfs_url=http://example.com/rootfs.img"), "{arguments}");
    assert!(!arguments.contains("coreos.liveiso"), "{arguments}");
}
