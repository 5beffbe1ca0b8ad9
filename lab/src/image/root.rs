//! Root file system, kernel and initramfs, from Debian's packages.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use super::recipe::Embedded;
use super::{Building, ImageError, Kind, digest, recipe};

/// Where ostree looks for what knows of containers.
const OSTREE_CONTAINER: &str = "usr/libexec/libostree/ext/ostree-container";

/// Makes `root.tar`, `vmlinuz`, `initrd.dracut` and `packages.txt`.
pub(super) fn make(building: &Building, installer: &Path) -> Result<(), ImageError> {
    for file in building.kind.files() {
        lay(building, "overlay", file)?;
    }
    program(building, installer, "usr/bin/coreos-installer")?;
    if building.kind == Kind::Ostree {
        program(building, &assisted_lab_tools::ostree_container()?, OSTREE_CONTAINER)?;
    }
    let hook = building.write("customize", recipe::CUSTOMIZE)?;
    set_mode(&hook, 0o755)?;

    let mut debian = building.tools.command("mmdebstrap")?;
    debian.args(["--mode=root", "--variant=essential", "--format=tar"]);
    debian.arg(format!("--include={}", building.kind.packages().join(",")));
    debian.args(recipe::UNWANTED.iter().map(|path| format!("--dpkgopt=path-exclude={path}")));
    debian.arg("--customize-hook").arg(&hook);
    debian
        .env("OVERLAY", building.path("overlay"))
        .env("OUT", building.dir)
        .env("DRACUT_MODULES", building.kind.dracut_modules())
        // The kernel's package is not to make an initramfs of its own.
        .env("INITRD", "No");
    building.tools.finish(debian.arg(recipe::SUITE).arg("root.tar"))
}

/// Makes of `root.tar` what ostree keeps of it and what a disk starts, in `sysroot` and `boot`; the image that nodes' images are built from,
/// `os-image`; and `root.tar` once more, in which coreos-installer finds what the disk has.
pub(super) fn lay_out(building: &Building) -> Result<(), ImageError> {
    for file in recipe::TREE_FILES {
        lay(building, "tree-files", file)?;
    }
    building.write("lay-out", recipe::TREE)?;
    let mut tree = building.tools.command("bash")?;
    tree.arg("lay-out").env("TREE", "tree-files").env("VERSION", recipe::VERSION);
    building.tools.finish(
        tree.env("OSTREE_CONTAINER", assisted_lab_tools::ostree_container()?)
            .env("KARGS", "ignition.platform.id=metal $ignition_firstboot"),
    )
}

/// Makes `rootfs.img`: an archive whose first member is the file system, at a place that readers count on (image-service
/// §2.1).
pub(super) fn pack(building: &Building) -> Result<(), ImageError> {
    let tar = building.path("root.tar");
    let mut squash = building.tools.command("mksquashfs")?;
    squash.args(["-", "root.squashfs", "-tar", "-comp", "zstd", "-Xcompression-level", "3", "-b", "256K"]);
    squash.args(["-no-progress", "-reproducible"]);
    squash.stdin(File::open(&tar).map_err(|error| ImageError::io(&tar, error))?);
    building.tools.finish(&mut squash)?;
    building.write("etc/coreos-live-rootfs", "")?;
    archive(building, &["root.squashfs", "etc/coreos-live-rootfs"], "rootfs.img")
}

/// Makes `initrd.img`: dracut's, and what makes it that of a live system with this very root image.
pub(super) fn finish_initrd(building: &Building) -> Result<(), ImageError> {
    building.write("etc/coreos-live-initramfs", "")?;
    building.write("etc/coreos/features.json", format!("{:#}\n", recipe::features()))?;
    // As `sha256sum` reads it.
    let want = format!("{}  rootfs.img\n", digest(&building.path("rootfs.img"))?);
    building.write("etc/coreos-live-want-rootfs", want)?;
    let files = [
        "etc",
        "etc/coreos",
        "etc/coreos/features.json",
        "etc/coreos-live-initramfs",
        "etc/coreos-live-want-rootfs",
    ];
    archive(building, &files, "live.cpio")?;
    let initrd = building.path("initrd.img");
    let mut out = File::create(&initrd).map_err(|error| ImageError::io(&initrd, error))?;
    for part in ["live.cpio", "initrd.dracut"] {
        let path = building.path(part);
        let mut part = File::open(&path).map_err(|error| ImageError::io(&path, error))?;
        std::io::copy(&mut part, &mut out).map_err(|error| ImageError::io(&path, error))?;
        // Another archive may follow only on a border of four bytes.
        let length = out.metadata().map_err(|error| ImageError::io(&initrd, error))?.len();
        let padding = usize::try_from(length.next_multiple_of(4) - length).unwrap_or_default();
        out.write_all(&[0; 4][..padding]).map_err(|error| ImageError::io(&initrd, error))?;
    }
    Ok(())
}

/// Packs files of the working folder into an uncompressed archive, in this order.
fn archive(building: &Building, files: &[&str], to: &str) -> Result<(), ImageError> {
    for file in files {
        building.tools.run("touch", ["--no-dereference", "--date", &format!("@{}", recipe::EPOCH), file])?;
    }
    let list = building.write("list", files.join("\n"))?;
    let out = building.path(to);
    let mut cpio = building.tools.command("cpio")?;
    cpio.args(["--create", "--format=newc", "--reproducible", "--owner=0:0", "--quiet"]);
    cpio.stdin(File::open(&list).map_err(|error| ImageError::io(&list, error))?);
    cpio.stdout(Stdio::from(File::create(&out).map_err(|error| ImageError::io(&out, error))?));
    building.tools.finish(&mut cpio)
}

/// Writes a file of the project into a folder of files that are added.
fn lay(building: &Building, folder: &str, file: &Embedded) -> Result<(), ImageError> {
    let path = building.write(&format!("{folder}/{}", file.path), file.content)?;
    set_mode(&path, if file.content.starts_with("#!") { 0o755 } else { 0o644 })
}

/// Adds a program to the live root.
fn program(building: &Building, from: &Path, place: &str) -> Result<(), ImageError> {
    let to = building.write(&format!("overlay/{place}"), "")?;
    std::fs::copy(from, &to).map_err(|error| ImageError::io(from, error))?;
    set_mode(&to, 0o755)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), ImageError> {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|error| ImageError::io(path, error))
}
