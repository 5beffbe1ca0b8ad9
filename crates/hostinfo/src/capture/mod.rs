//! Taking a machine's facts along: what the inventory reads, and no more, so that the machine becomes a fixture.
//!
//! A capture leaves its machine and may be shown to others. So it holds allow-listed files only, and of those that
//! can carry secrets (kernel command line, mount options, firmware strings, udev records, boot sectors) only the
//! parts that the inventory is made of.

mod tree;

pub use tree::{Tree, TreeError};

use crate::Root;
use crate::root::NETLINK_FILE;

const DMI: &[&str] = &[
    "board_serial",
    "board_vendor",
    "bios_vendor",
    "chassis_asset_tag",
    "product_family",
    "product_name",
    "product_serial",
    "product_uuid",
    "product_version",
    "sys_vendor",
];

/// Words of the kernel command line that hold no secret: by their name, up to the first `=`.
const KERNEL_WORDS: &[&str] = &[
    "BOOTIF",
    "BOOT_IMAGE",
    "console",
    "coreos.liveiso",
    "ignition.firstboot",
    "ignition.platform.id",
    "ro",
    "root",
    "rw",
];

const BLOCK_FILES: &[&str] = &[
    "dev",
    "dm/name",
    "dm/uuid",
    "device/state",
    "device/vendor",
    "device/vpd_pg83",
    "hidden",
    "queue/rotational",
    "removable",
    "size",
    "wwid",
];

/// Everything that [`crate::inventory`] and [`crate::host_id`] read under `root`.
pub fn capture(root: &Root) -> Tree {
    let mut tree = Tree::default();
    processes(root, &mut tree);
    firmware(root, &mut tree);
    hardware(root, &mut tree);
    network(root, &mut tree);
    for name in root.list("/sys/block") {
        block_device(root, &mut tree, &name);
    }
    for dir in ["/dev/disk/by-id", "/dev/disk/by-path"] {
        for name in root.list(dir) {
            tree.link(root, &format!("{dir}/{name}"));
        }
    }
    tree
}

fn processes(root: &Root, tree: &mut Tree) {
    let words = root.raw_text("/proc/cmdline").unwrap_or_default();
    let words = words
        .split_whitespace()
        .filter(|word| KERNEL_WORDS.contains(&word.split('=').next().unwrap_or(word)));
    tree.text("/proc/cmdline", words.collect::<Vec<_>>().join(" ") + "\n");
    let info = crate::cpu::info(root);
    // On s390x the machine comes first, then the processors, a line each, then a block for each.
    let blocks = info.split("\n\n").take(if info.starts_with("processor") { 1 } else { 3 });
    tree.text("/proc/cpuinfo", blocks.collect::<Vec<_>>().join("\n\n").trim_end().to_owned() + "\n");
    let mounts: String = crate::mounts::table(root)
        .lines()
        .filter(|line| line.starts_with("/dev/"))
        .filter_map(|line| line.split_once(' ')?.1.split_once(' ').map(|(on, _)| (line, on)))
        .map(|(line, on)| format!("{} {on}\n", line.split(' ').next().unwrap_or_default()))
        .collect();
    tree.text("/proc/1/mounts", mounts);
    let total = root.long_text("/proc/meminfo");
    tree.text(
        "/proc/meminfo",
        total.lines().filter(|line| line.starts_with("MemTotal:")).map(|l| format!("{l}\n")).collect(),
    );
    tree.text("/proc/sys/kernel/arch", root.architecture() + "\n");
    for path in
        ["/proc/sys/kernel/hostname", "/proc/sysinfo", "/proc/xen/capabilities", "/sys/hypervisor/type"]
    {
        tree.file(root, path);
    }
}

fn firmware(root: &Root, tree: &mut Tree) {
    for name in DMI {
        tree.copy(root, &format!("/sys/class/dmi/id/{name}"));
    }
    if let Some(table) = crate::smbios::essence(root) {
        tree.bytes(crate::smbios::TABLE, table);
    }
    for dir in [crate::boot::EFI, "/sys/firmware/ibft"] {
        tree.dir(root, dir);
    }
    tree.file(root, crate::boot::SECURE_BOOT);
    for entry in root.list("/sys/firmware/ibft") {
        tree.file(root, &format!("/sys/firmware/ibft/{entry}/target-name"));
    }
    tree.copy(root, "/sys/class/tpm/tpm0/tpm_version_major");
    for path in ["/proc/device-tree/hypervisor/compatible", "/proc/device-tree/ibm,partition-name"] {
        tree.copy(root, path);
    }
}

fn hardware(root: &Root, tree: &mut Tree) {
    const CPU: &str = "/sys/devices/system/cpu";
    const MEMORY: &str = "/sys/devices/system/memory";
    tree.file(root, &format!("{CPU}/present"));
    for cpu in root.list(CPU) {
        tree.copy(root, &format!("{CPU}/{cpu}/cpufreq/cpuinfo_max_freq"));
    }
    tree.file(root, &format!("{MEMORY}/block_size_bytes"));
    for block in root.list(MEMORY) {
        tree.file(root, &format!("{MEMORY}/{block}/state"));
    }
    for device in root.list("/sys/bus/pci/devices") {
        tree.copy(root, &format!("/sys/bus/pci/devices/{device}/modalias"));
    }
    for (class, attribute) in [("iscsi_host", "ipaddress"), ("iscsi_session", "targetname")] {
        for entry in root.list(&format!("/sys/class/{class}")) {
            tree.copy(root, &format!("/sys/class/{class}/{entry}/{attribute}"));
        }
    }
}

fn network(root: &Root, tree: &mut Tree) {
    let netlink = root.netlink();
    for link in &netlink.links {
        let sys = format!("/sys/class/net/{}", link.name);
        tree.link(root, &sys);
        tree.real_dir(root, &sys);
        tree.link(root, &format!("{sys}/device"));
        for name in ["carrier", "speed", "device/device", "device/vendor", "device/index"] {
            tree.file(root, &format!("{sys}/{name}"));
        }
    }
    if let Ok(text) = serde_json::to_string_pretty(&netlink) {
        tree.text(NETLINK_FILE, text + "\n");
    }
}

fn block_device(root: &Root, tree: &mut Tree, name: &str) {
    let sys = format!("/sys/block/{name}");
    tree.link(root, &sys);
    tree.real_dir(root, &sys);
    tree.link(root, &format!("{sys}/device"));
    for attribute in BLOCK_FILES {
        tree.file(root, &format!("{sys}/{attribute}"));
    }
    if let Some(channel) = crate::disk::channel_device(root, &sys) {
        for attribute in ["discipline", "ese"] {
            tree.file(root, &format!("{channel}/{attribute}"));
        }
    }
    for dir in ["holders", "slaves", "device/scsi_device"] {
        for entry in root.list(&format!("{sys}/{dir}")) {
            if let Some(real) = root.resolve(&format!("{sys}/{dir}")) {
                tree.empty_dir(&format!("{real}/{entry}"));
            }
        }
    }
    udev(root, tree, &sys);
    for partition in root.list(&sys).iter().filter(|entry| entry.starts_with(name)) {
        tree.file(root, &format!("{sys}/{partition}/dev"));
        udev(root, tree, &format!("{sys}/{partition}"));
    }
    let path = format!("/dev/{name}");
    if root.exists(&path) {
        // Only the mark of a boot sector, not what else stands in it.
        let sector = root.head(&path, 512).unwrap_or_default();
        let mark = sector.get(510..).filter(|mark| *mark == [0x55, 0xaa]);
        tree.bytes(&path, mark.map(|mark| [&[0; 510][..], mark].concat()).unwrap_or_default());
    }
}

fn udev(root: &Root, tree: &mut Tree, sys: &str) {
    let Some(number) = root.text(&format!("{sys}/dev")) else { return };
    let path = format!("/run/udev/data/b{number}");
    let record = root.long_text(&path);
    let wanted = |line: &&str| {
        line.strip_prefix("E:")
            .and_then(|line| line.split_once('='))
            .is_some_and(|(key, _)| crate::disk::UDEV_KEYS.contains(&key))
    };
    let record: String = record.lines().filter(wanted).map(|line| format!("{line}\n")).collect();
    if !record.is_empty() {
        tree.text(&path, record);
    }
}
