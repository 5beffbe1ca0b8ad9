//! What a machine shows of its hardware, and its disk.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CARD, NamespaceError, Spec, answer};

const SECTOR: u64 = 512;
/// Where the lab's `coreos-installer` puts the config, behind its length: at the beginning of the partition.
const CONFIG: u64 = 2048 * SECTOR;
/// Longest config, in bytes.
const LONGEST: u32 = 64 << 20;

/// Writes the machine's `/sys`.
pub(super) fn describe(sys: &Path, spec: &Spec) -> Result<(), NamespaceError> {
    const PCI: &str = "devices/pci0000:00/0000:00:02.0/net";
    let card = format!("{PCI}/{CARD}");
    let id = spec.uuid.to_string();
    let serial = format!("lab-{}", spec.name);
    let sectors = (spec.disk_bytes / SECTOR).to_string();
    let files = [
        ("class/dmi/id/product_uuid", id.as_str()),
        ("class/dmi/id/product_serial", &serial),
        ("class/dmi/id/sys_vendor", "Lab"),
        ("class/dmi/id/product_name", "Namespace"),
        ("block/vdx/size", &sectors),
        ("block/vdx/removable", "0"),
        ("block/vdx/queue/rotational", "0"),
        (&format!("{card}/carrier"), "1"),
        (&format!("{card}/speed"), "10000"),
        (&format!("{card}/device/vendor"), "0x1af4"),
        (&format!("{card}/device/device"), "0x1000"),
        ("devices/virtual/net/lo/carrier", "1"),
    ];
    for (name, text) in files {
        let path = sys.join(name);
        let folder = path.parent().unwrap_or(sys);
        std::fs::create_dir_all(folder).map_err(NamespaceError::io(folder))?;
        std::fs::write(&path, format!("{text}\n")).map_err(NamespaceError::io(&path))?;
    }
    for (name, to) in [
        (format!("class/net/{CARD}"), format!("../../{card}")),
        ("class/net/lo".to_owned(), "../../devices/virtual/net/lo".to_owned()),
        ("class/block/vdx".to_owned(), "../../block/vdx".to_owned()),
    ] {
        let path = sys.join(name);
        let folder = path.parent().unwrap_or(sys);
        std::fs::create_dir_all(folder).map_err(NamespaceError::io(folder))?;
        if !path.is_symlink() {
            symlink(to, &path).map_err(NamespaceError::io(&path))?;
        }
    }
    Ok(())
}

/// A disk: a block device over a sparse file.
#[derive(Debug)]
pub(super) struct Disk {
    device: PathBuf,
    /// As long as this is open the device is there.
    _open: File,
}

impl Disk {
    pub(super) fn open(dir: &Path, bytes: u64) -> Result<Self, NamespaceError> {
        let path = dir.join("disk0.raw");
        let file =
            File::options().create(true).append(true).open(&path).map_err(NamespaceError::io(&path))?;
        file.set_len(bytes).map_err(NamespaceError::io(&path))?;
        let path = path.display().to_string();
        let device = PathBuf::from(losetup(&["--find", "--show", &path])?.trim());
        let opened = File::options().read(true).write(true).open(&device);
        // The kernel takes the device away when nobody has it open any more, however this process ends.
        let detached = losetup(&["--detach", &device.display().to_string()]);
        let open = opened.map_err(NamespaceError::io(&device))?;
        detached?;
        Ok(Self { device, _open: open })
    }

    pub(super) fn device(&self) -> &Path {
        &self.device
    }

    /// Whether the machine starts from it: the config of its first start, or `None` once there was one.
    pub(super) fn read(&self) -> Result<Option<Option<Vec<u8>>>, NamespaceError> {
        let read = || {
            let mut device = File::open(&self.device)?;
            let mut sector = [0; SECTOR as usize];
            device.read_exact(&mut sector)?;
            if !sector.ends_with(&[0x55, 0xaa]) {
                return Ok(None);
            }
            device.seek(SeekFrom::Start(CONFIG))?;
            let mut length = [0; 4];
            device.read_exact(&mut length)?;
            let length = u32::from_le_bytes(length);
            if length == 0 || length > LONGEST {
                return Ok(Some(None));
            }
            let mut config = Vec::new();
            device.take(length.into()).read_to_end(&mut config)?;
            Ok(Some(Some(config)))
        };
        read().map_err(NamespaceError::io(&self.device))
    }

    /// No later start is a first one.
    pub(super) fn forget_config(&self) -> Result<(), NamespaceError> {
        let write = || {
            let mut device = File::options().write(true).open(&self.device)?;
            device.seek(SeekFrom::Start(CONFIG))?;
            device.write_all(&[0; 4])?;
            device.sync_data()
        };
        write().map_err(NamespaceError::io(&self.device))
    }
}

fn losetup(words: &[&str]) -> Result<String, NamespaceError> {
    let said = answer(Command::new("losetup").args(words), &format!("losetup {}", words.join(" ")))?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}
