//! FAT images that EFI machines boot: GRUB, which finds what it goes on with by a label.

use std::path::{Path, PathBuf};

use super::{Building, ImageError};

/// Modules that the GRUB of the ISO needs before it can read others from the medium; it reads none.
const MODULES: &[&str] = &[
    "iso9660",
    "part_gpt",
    "part_msdos",
    "fat",
    "normal",
    "linux",
    "search",
    "search_label",
    "configfile",
    "echo",
    "test",
    "boot",
    "all_video",
    "efi_gop",
    "efi_uga",
    "gzio",
    "serial",
    "terminal",
];

/// Where firmware looks that was told nothing.
pub(super) const DEFAULT: &str = "EFI/BOOT/BOOTX64.EFI";

/// Size of the ISO's, in KiB.
const SIZE: u64 = 4096;

/// Makes `tree/images/efiboot.img`, which finds its medium by the volume id.
pub(super) fn make(building: &Building, volume: &str) -> Result<(), ImageError> {
    let stub = format!(
        "search --no-floppy --set=root --label '{volume}'\n\
         set prefix=($root)/EFI/fedora\n\
         configfile ($root)/{}\n",
        super::arguments::GRUB
    );
    let loader = building.path("efi.loader");
    self::loader(building, &loader, "x86_64-efi", "/EFI/fedora", &stub, MODULES)?;
    image(building, "tree/images/efiboot.img", SIZE, &loader, &[DEFAULT]).map(drop)
}

/// Makes a GRUB for `format` that starts with `stub`.
pub(super) fn loader(
    building: &Building,
    to: &Path,
    format: &str,
    prefix: &str,
    stub: &str,
    modules: &[&str],
) -> Result<(), ImageError> {
    let stub = building.write("grub.stub", stub)?;
    let mut grub = building.tools.command("grub-mkimage")?;
    grub.args(["-O", format, "-p", prefix, "-c"]).arg(stub).arg("-o").arg(to).args(modules);
    building.tools.finish(&mut grub)
}

/// Makes a FAT image of so many KiB with a boot loader in each of these places.
pub(super) fn image(
    building: &Building,
    name: &str,
    kib: u64,
    loader: &Path,
    places: &[&str],
) -> Result<PathBuf, ImageError> {
    let tools = &building.tools;
    let image = building.write(name, "")?;
    // A fixed serial number, and the dates of SOURCE_DATE_EPOCH: the same image each time.
    let mut format = tools.command("mkfs.vfat")?;
    format.args(["-C", "-n", "EFI-SYSTEM", "-i", "a5515ed0", "--invariant"]);
    std::fs::remove_file(&image).map_err(|error| ImageError::io(&image, error))?;
    tools.finish(format.arg(&image).arg(kib.to_string()))?;
    let mut folders = tools.command("mmd")?;
    folders.arg("-i").arg(&image).arg("::EFI");
    folders.args(places.iter().filter_map(|place| place.rsplit_once('/')).map(|(dir, _)| format!("::{dir}")));
    tools.finish(&mut folders)?;
    for place in places {
        let mut copy = tools.command("mcopy")?;
        tools.finish(copy.arg("-i").arg(&image).arg(loader).arg(format!("::{place}")))?;
    }
    Ok(image)
}
