//! The disk image that `coreos-installer` writes onto a machine's disk, and the description by which it takes the image
//! out of the live system that it runs on: nothing is downloaded, and nothing lies twice on the medium.
//!
//! The disk has CoreOS's partitions (installer-and-controller §A10). What its root has in common with the live system is
//! found there below `/ostree/repo/objects`, by digest; the rest, boot loaders and all, is in the description.

mod boot;
mod filesystem;
mod osmet;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{Building, ImageError, Kind, recipe};
pub(super) use boot::{GRUB, entry, ostree_grub};

/// Where coreos-installer finds the description in the live system.
pub(super) const DESCRIPTION: &str = "usr/lib/coreos-installer/osmet/metal.osmet";

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// Sizes of the first partitions, in MiB; the first starts at 1 MiB.
const BIOS: u64 = 1;
const EFI: u64 = 8;
/// Twice the initramfs must fit: a network is laid into it by making it anew.
const BOOT: u64 = 160;

/// A partition: name, type, identity, MiB.
type Partition = (&'static str, &'static str, &'static str, u64);

const DATA: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
/// As on CoreOS the same on every machine: disks are told apart by other things.
const DISK_ID: &str = "00000000-0000-4000-a000-000000000001";
/// What ostree has made for the root, as files.
const SYSROOT: &str = "sysroot";
const BOOT_ID: &str = "96d15588-3596-4b3c-adca-a2ff7279ea63";
const ROOT_ID: &str = "910678ff-f77e-4a7d-8d53-86f2ac47a823";

fn partitions(root: u64) -> [Partition; 4] {
    [
        ("BIOS-BOOT", "21686148-6449-6E6F-744E-656564454649", "9e1b7d0e-4bb4-4f1c-8f2a-3a64a1b5c001", BIOS),
        ("EFI-SYSTEM", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "9e1b7d0e-4bb4-4f1c-8f2a-3a64a1b5c002", EFI),
        ("boot", DATA, "9e1b7d0e-4bb4-4f1c-8f2a-3a64a1b5c003", BOOT),
        ("root", DATA, "9e1b7d0e-4bb4-4f1c-8f2a-3a64a1b5c004", root),
    ]
}

/// What sfdisk reads: the table of a disk whose root has so many MiB.
fn table(root: u64) -> String {
    let mut table = format!("label: gpt\nlabel-id: {DISK_ID}\n");
    let mut start = 1;
    for (name, kind, uuid, mib) in partitions(root) {
        let (first, size) = (start * MIB / SECTOR, mib * MIB / SECTOR);
        let _ = writeln!(table, "start={first}, size={size}, type={kind}, uuid={uuid}, name=\"{name}\"");
        start += mib;
    }
    table
}

/// What decides on the disk's bytes beside files and boot loaders.
pub(super) fn layout() -> String {
    format!("{}{BOOT_ID}{ROOT_ID}{DESCRIPTION}", table(0))
}

/// Makes `metal.osmet` of the disk with the system in `root.tar`, or with what ostree has made of it, and adds it there for the live system.
pub(super) fn make(building: &Building, installer: &Path) -> Result<(), ImageError> {
    let disk = building.path("metal.raw");
    let files = building.path("root.tar");
    let bytes = match building.kind {
        Kind::Plain => std::fs::metadata(&files).map_err(|error| ImageError::io(&files, error))?.len(),
        Kind::Ostree => filesystem::size(building, SYSROOT)?,
    };
    // Files fill whole blocks, and there are tables: what is too much only costs time when it is written.
    let root = (bytes + bytes / 8).div_ceil(MIB) + 96;
    let system = match building.kind {
        Kind::Plain => filesystem::of_tar(building, &files, "root", ROOT_ID, root)?,
        Kind::Ostree => filesystem::xfs(building, SYSROOT, "root", ROOT_ID, root)?,
    };
    let loaders = boot::partition(building)?;
    let boot = filesystem::of_dir(building, "boot", BOOT_ID, BOOT)?;
    let efi = boot::efi(building, EFI)?;

    let written = File::create(&disk).map_err(|error| ImageError::io(&disk, error))?;
    let end = 1 + BIOS + EFI + BOOT + root;
    // The second table stands behind the last partition.
    written.set_len((end + 1) * MIB).map_err(|error| ImageError::io(&disk, error))?;
    let mut partition = building.tools.command("sfdisk")?;
    let script = building.write("table", table(root))?;
    partition.args(["--quiet", "--no-reread", "--no-tell-kernel"]).arg(&disk);
    partition.stdin(File::open(&script).map_err(|error| ImageError::io(&script, error))?);
    building.tools.finish(&mut partition)?;
    let mut start = 1 + BIOS;
    for (file, mib) in [(&efi, EFI), (&boot, BOOT), (&system, root)] {
        put(&written, &disk, file, start * MIB)?;
        start += mib;
    }
    loaders.install(&written, &disk, MIB)?;
    drop(written);
    for file in [&efi, &boot, &system] {
        std::fs::remove_file(file).map_err(|error| ImageError::io(file, error))?;
    }
    osmet::pack(building, installer, &disk)?;
    std::fs::remove_file(&disk).map_err(|error| ImageError::io(&disk, error))?;

    let place = building.path(&format!("live/{DESCRIPTION}"));
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).map_err(|error| ImageError::io(parent, error))?;
    }
    let made = building.path("metal.osmet");
    std::fs::hard_link(&made, &place).map_err(|error| ImageError::io(&place, error))?;
    let date = format!("--mtime=@{}", recipe::EPOCH);
    let mut add = building.tools.command("tar")?;
    add.args([
        "--append",
        "--file=root.tar",
        "--directory=live",
        "--owner=0",
        "--group=0",
        "--mode=0644",
        &date,
    ]);
    building.tools.finish(add.arg(format!("./{DESCRIPTION}")))
}

/// Copies a partition's bytes onto the disk; zeros are there already.
fn put(disk: &File, name: &Path, from: &Path, offset: u64) -> Result<(), ImageError> {
    let mut file = File::open(from).map_err(|error| ImageError::io(from, error))?;
    let mut piece = vec![0; 1 << 20];
    let mut at = offset;
    loop {
        let count = file.read(&mut piece).map_err(|error| ImageError::io(from, error))?;
        let Some(bytes) = piece.get(..count).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        if bytes.iter().any(|byte| *byte != 0) {
            disk.write_all_at(bytes, at).map_err(|error| ImageError::io(name, error))?;
        }
        at += bytes.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_follow_each_other_and_have_the_names_that_installers_look_for() {
        let table = table(100);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert!(lines[0].starts_with("start=2048, size=2048,") && lines[0].ends_with("name=\"BIOS-BOOT\""));
        assert!(lines[1].starts_with("start=4096, size=16384,") && lines[1].ends_with("name=\"EFI-SYSTEM\""));
        assert!(lines[2].starts_with("start=20480, size=327680,") && lines[2].ends_with("name=\"boot\""));
        assert!(lines[3].starts_with("start=348160, size=204800,") && lines[3].ends_with("name=\"root\""));
    }
}
