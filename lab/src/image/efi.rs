//! The FAT image that EFI machines boot: GRUB, which finds the medium by its label and goes on there.

use super::{Building, ImageError, recipe};

/// Modules that GRUB needs before it can read others from the medium; it reads none.
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

/// Size in KiB.
const SIZE: &str = "4096";

/// Makes `tree/images/efiboot.img`.
pub(super) fn make(building: &Building) -> Result<(), ImageError> {
    let tools = &building.tools;
    let volume = recipe::volume();
    let stub = format!(
        "search --no-floppy --set=root --label '{volume}'\n\
         set prefix=($root)/EFI/fedora\n\
         configfile ($root)/{}\n",
        super::arguments::GRUB
    );
    let stub = building.write("efi/grub.cfg", stub)?;
    let loader = building.path("efi/BOOTX64.EFI");
    let mut grub = tools.command("grub-mkimage")?;
    grub.args(["-O", "x86_64-efi", "-p", "/EFI/fedora", "-c"]).arg(stub).arg("-o").arg(&loader).args(MODULES);
    tools.finish(&mut grub)?;
    let image = building.write("tree/images/efiboot.img", "")?;
    // A fixed serial number, and the dates of SOURCE_DATE_EPOCH: the same image each time.
    let mut format = tools.command("mkfs.vfat")?;
    format.args(["-C", "-n", "EFI-SYSTEM", "-i", "a5515ed0", "--invariant"]);
    std::fs::remove_file(&image).map_err(|error| ImageError::io(&image, error))?;
    tools.finish(format.arg(&image).arg(SIZE))?;
    let mut folders = tools.command("mmd")?;
    tools.finish(folders.arg("-i").arg(&image).args(["::EFI", "::EFI/BOOT"]))?;
    let mut copy = tools.command("mcopy")?;
    tools.finish(copy.arg("-i").arg(&image).arg(&loader).arg("::EFI/BOOT/BOOTX64.EFI"))
}
