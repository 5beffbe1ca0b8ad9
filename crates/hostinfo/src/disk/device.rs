//! One block device as sysfs and the udev database describe it.

use std::collections::HashMap;

use crate::Root;

/// The properties of udev records that are used, of disks and of partitions.
pub(crate) const UDEV_KEYS: &[&str] = &[
    "DM_WWN",
    "ID_MODEL",
    "ID_PART_ENTRY_NAME",
    "ID_PATH",
    "ID_SCSI_SERIAL",
    "ID_SERIAL",
    "ID_SERIAL_SHORT",
    "ID_WWN",
    "ID_WWN_WITH_EXTENSION",
    "SCSI_IDENT_LUN_NAA_REGEXT",
    "SCSI_IDENT_SERIAL",
];
/// Longest value of a property, in bytes; names and numbers of devices are far shorter.
const MAX_VALUE: usize = 1 << 10;

/// What the device mapper makes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Plain,
    Multipath,
    Lvm,
    /// Any other device of the device mapper.
    Mapped,
}

/// What the rules of several properties ask for.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) name: String,
    /// Bytes.
    pub(super) size: i64,
    pub(super) class: Class,
    /// The device mapper's name; empty for other devices.
    pub(super) dm_name: String,
    udev: HashMap<String, String>,
}

impl Device {
    pub(super) fn read(root: &Root, name: String) -> Self {
        let sys = format!("/sys/block/{name}");
        let sectors: i64 = root.text(&format!("{sys}/size")).and_then(|size| size.parse().ok()).unwrap_or(0);
        let class = if name.starts_with("dm-") {
            match root.text(&format!("{sys}/dm/uuid")).unwrap_or_default() {
                uuid if uuid.starts_with("mpath-") => Class::Multipath,
                uuid if uuid.starts_with("LVM-") => Class::Lvm,
                _ => Class::Mapped,
            }
        } else {
            Class::Plain
        };
        Self {
            // The kernel counts sectors of 512 bytes, whatever the disk's own are.
            size: sectors.saturating_mul(512).max(0),
            class,
            dm_name: root.text(&format!("{sys}/dm/name")).unwrap_or_default(),
            udev: udev(root, &sys),
            name,
        }
    }

    pub(super) fn sys(&self) -> String {
        format!("/sys/block/{}", self.name)
    }

    /// A property of the udev record; empty and `unknown` count as absent.
    pub(super) fn udev(&self, key: &str) -> Option<&str> {
        self.udev.get(key).map(String::as_str).filter(|value| !value.is_empty() && *value != "unknown")
    }

    fn first(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.udev(key))
    }

    pub(super) fn serial(&self) -> Option<&str> {
        self.first(&["SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT", "ID_SERIAL"])
    }

    pub(super) fn wwn(&self) -> Option<String> {
        self.first(&["ID_WWN_WITH_EXTENSION", "ID_WWN", "DM_WWN"]).map(Into::into)
    }

    /// Where the device is attached, such as `pci-0000:18:00.0-scsi-0:2:0:0`; the device's own name where udev says
    /// nothing, so that two such devices don't seem to share a path.
    pub(super) fn bus_path(&self) -> &str {
        self.udev("ID_PATH").unwrap_or(&self.name)
    }

    pub(super) fn by_path(&self) -> Option<String> {
        self.udev("ID_PATH").map(|path| format!("/dev/disk/by-path/{path}"))
    }

    /// Hidden devices, memory-backed ones and bare device-mapper targets are no disks.
    pub(super) fn is_reported(&self, root: &Root) -> bool {
        let hidden = root.text(&format!("{}/hidden", self.sys())).is_some_and(|text| text == "1");
        !hidden
            && self.class != Class::Mapped
            && !self.name.starts_with("loop")
            && !self.name.starts_with("zram")
    }

    /// Names of the partitions, sorted.
    pub(super) fn partitions(&self, root: &Root) -> Vec<String> {
        let sys = self.sys();
        let names = root.list(&sys).into_iter().filter(|name| name.starts_with(&self.name));
        names.filter(|name| root.is_dir(&format!("{sys}/{name}"))).collect()
    }

    /// A partition's name in the partition table.
    pub(super) fn partition_label(&self, root: &Root, partition: &str) -> String {
        udev(root, &format!("{}/{partition}", self.sys())).remove("ID_PART_ENTRY_NAME").unwrap_or_default()
    }

    /// Whether the device identifies itself (SCSI page 0x83, an NVMe namespace's identifier).
    ///
    /// The kernel asked already and keeps the page; what it skips for old SCSI levels, udev asked. A multipath device
    /// answers through its paths.
    pub(super) fn has_identity(&self, root: &Root) -> bool {
        let sys = self.sys();
        let page =
            |sys: &str| root.head(&format!("{sys}/device/vpd_pg83"), 4).is_ok_and(|page| !page.is_empty());
        if self.class == Class::Multipath {
            return root
                .list(&format!("{sys}/slaves"))
                .iter()
                .any(|path| page(&format!("/sys/block/{path}")));
        }
        let scsi =
            self.name.starts_with("sd") && self.first(&["ID_WWN", "SCSI_IDENT_LUN_NAA_REGEXT"]).is_some();
        let nvme = self.name.starts_with("nvme")
            && root
                .text(&format!("{sys}/wwid"))
                .is_some_and(|wwid| wwid.starts_with("eui.") || wwid.starts_with("uuid."));
        page(&sys) || scsi || nvme
    }
}

/// The properties of the udev record of the device at `sys`. The database writes bytes that aren't plain as `\x20`.
fn udev(root: &Root, sys: &str) -> HashMap<String, String> {
    let Some(number) = root.text(&format!("{sys}/dev")) else { return HashMap::new() };
    // The number becomes part of a path.
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
        return HashMap::new();
    }
    let record = root.long_text(&format!("/run/udev/data/b{number}"));
    let properties = record.lines().filter_map(|line| line.strip_prefix("E:")?.split_once('='));
    properties
        .filter(|(key, value)| UDEV_KEYS.contains(key) && value.len() <= MAX_VALUE)
        .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
        .collect()
}
