//! What starts the system on a disk: GRUB for both kinds of firmware, and the boot loader entry that coreos-installer
//! edits.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::image::{Building, ImageError, Kind, arguments, efi};

/// GRUB's file on the boot partition.
pub(in crate::image) const GRUB: &str = include_str!("../../../image/disk/grub.cfg");

/// The same where ostree writes the entries.
const OSTREE_GRUB: &str = include_str!("../../../image/ostree/grub.cfg");
/// What stands there for the arguments of every entry.
const ARGUMENTS: &str = "LAB_ARGUMENTS";

/// Modules that GRUB needs to find its own folder on the disk. The kernel's loader must not be among them: `grub.cfg`
/// tells why.
const MODULES: &[&str] = &[
    "part_gpt",
    "ext2",
    "normal",
    "search",
    "search_label",
    "configfile",
    "test",
    "true",
    "boot",
    "all_video",
    "gzio",
    "serial",
    "terminal",
];

/// Where the files of GRUB's package are.
const PACKAGE: &str = "/usr/lib/grub";

/// Where the installer looks for the loader that firmware is to be told of (installer-and-controller §A14).
const LOADER: &str = "EFI/redhat/shimx64.efi";

/// The commands that GRUB runs first: it finds the boot partition, and goes on with the file there.
const STUB: &str =
    "search --no-floppy --set=root --label boot\nset prefix=($root)/grub2\nconfigfile $prefix/grub.cfg\n";

/// Where the address of what it loads next stands in GRUB's first sector, and in that of what is loaded.
const NEXT_OF_FIRST: u64 = 0x5c;
const NEXT_OF_CORE: u64 = 0x1f4;
/// Bytes of the first sector that are code; disk signature and table follow.
const CODE: usize = 0x1b8;

/// The boot loader entry.
pub(in crate::image) fn entry() -> String {
    format!(
        "title Lab\nversion 1\n\
         options ignition.platform.id=metal $ignition_firstboot root=LABEL=root rw {}\n\
         linux /lab/vmlinuz\ninitrd /lab/initrd.img\n",
        arguments::COMMON
    )
}

/// GRUB's file where ostree writes the entries. They begin with what ostree was told; the rest, which is the machine's, is GRUB's to add.
pub(in crate::image) fn ostree_grub() -> String {
    OSTREE_GRUB.replace(ARGUMENTS, &format!("root=LABEL=root rw {}", arguments::COMMON))
}

/// The two parts of GRUB that BIOS machines start.
pub(super) struct Loaders {
    first: PathBuf,
    core: PathBuf,
}

/// Lays out `boot`, the boot partition's files.
pub(super) fn partition(building: &Building) -> Result<Loaders, ImageError> {
    // Its being there makes a start the first one.
    building.write("boot/ignition.firstboot", "")?;
    if building.kind == Kind::Ostree {
        building.write("boot/grub2/grub.cfg", ostree_grub())?;
    } else {
        building.write("boot/loader/entries/lab.conf", entry())?;
        building.write("boot/grub2/grub.cfg", GRUB)?;
        for (from, to) in [("vmlinuz", "vmlinuz"), ("initrd.dracut", "initrd.img")] {
            copy(&building.path(from), &building.write(&format!("boot/lab/{to}"), "")?)?;
        }
    }
    for format in ["i386-pc", "x86_64-efi"] {
        let package = Path::new(PACKAGE).join(format);
        let modules = std::fs::read_dir(&package)
            .map_err(|_| ImageError::Tool { program: format!("GRUB for {format}") })?;
        for module in modules {
            let module = module.map_err(|error| ImageError::io(&package, error))?.path();
            let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".mod") {
                copy(&module, &building.write(&format!("boot/grub2/{format}/{name}"), "")?)?;
            }
        }
    }
    let core = building.path("core.img");
    let modules = [MODULES, &["biosdisk"]].concat();
    efi::loader(building, &core, "i386-pc", "/grub2", STUB, &modules)?;
    Ok(Loaders { first: Path::new(PACKAGE).join("i386-pc/boot.img"), core })
}

/// The EFI system partition.
pub(super) fn efi(building: &Building, mib: u64) -> Result<PathBuf, ImageError> {
    let loader = building.path("disk.efi");
    let modules = [MODULES, &["efi_gop", "efi_uga"]].concat();
    efi::loader(building, &loader, "x86_64-efi", "/grub2", STUB, &modules)?;
    efi::image(building, "esp.img", mib * 1024, &loader, &[efi::DEFAULT, LOADER])
}

impl Loaders {
    /// Writes them onto a disk whose partition for them starts at `partition`, in bytes.
    pub(super) fn install(&self, disk: &File, name: &Path, partition: u64) -> Result<(), ImageError> {
        let first = std::fs::read(&self.first).map_err(|error| ImageError::io(&self.first, error))?;
        let core = std::fs::read(&self.core).map_err(|error| ImageError::io(&self.core, error))?;
        let sector = partition / super::SECTOR;
        let writes = [
            (0, first.get(..CODE).unwrap_or(&first)),
            (NEXT_OF_FIRST, &sector.to_le_bytes()),
            (partition, &core),
            (partition + NEXT_OF_CORE, &(sector + 1).to_le_bytes()),
        ];
        for (at, bytes) in writes {
            disk.write_all_at(bytes, at).map_err(|error| ImageError::io(name, error))?;
        }
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), ImageError> {
    std::fs::copy(from, to).map(drop).map_err(|error| ImageError::io(from, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_has_the_lines_that_tools_edit_and_grub_runs() {
        let entry = entry();
        let keys: Vec<_> =
            entry.lines().filter_map(|line| line.split_once(' ')).map(|(key, _)| key).collect();
        assert_eq!(keys, ["title", "version", "options", "linux", "initrd"]);
        for key in keys {
            assert!(GRUB.contains(&format!("\nfunction {key} {{ ")), "{key}");
        }
        for key in ["title", "version", "options", "linux", "initrd"] {
            assert!(OSTREE_GRUB.contains(&format!("\nfunction {key} {{ ")), "{key}");
        }
        assert!(ostree_grub().contains("linux $2 $3 root=LABEL=root rw "), "{}", ostree_grub());
        // What begins the block where consoles are set.
        assert!(GRUB.contains("\n# CONSOLE-SETTINGS-START\n") && GRUB.contains("\n# CONSOLE-SETTINGS-END\n"));
    }
}
