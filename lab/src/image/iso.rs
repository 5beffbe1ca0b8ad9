//! The ISO: the tree of a CoreOS live ISO, with the places where Ignition configs and kernel arguments are laid in.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Building, ImageError, arguments, key, recipe};

/// Size of the area for an Ignition config, in bytes (image-service §2.1).
const IGNITION_AREA: u64 = 262_144;

/// Size of the area for the recipe of a minimal ISO, in bytes (image-service §2.5).
const MINIMAL_AREA: u64 = 16_384;

const ISOLINUX: &str = "/usr/lib/ISOLINUX";
const SYSLINUX: &str = "/usr/lib/syslinux/modules/bios";

/// Makes `live.iso`.
pub(super) fn make(building: &Building, installer: &Path) -> Result<(), ImageError> {
    tree(building)?;
    let full = building.path("live.iso");
    let minimal = building.path("minimal.iso");
    // Once without what a minimal ISO lacks: the difference tells coreos-installer how to make one from the full ISO.
    write(building, &minimal, &["images/pxeboot/rootfs.img", "coreos/miniso.dat"])?;
    write(building, &full, &[])?;
    let mut pack = building.tools.command(installer)?;
    pack.args(["pack", "minimal-iso"]).arg(&full).arg(&minimal).arg("--consume");
    building.tools.finish(&mut pack)
}

fn tree(building: &Building) -> Result<(), ImageError> {
    for name in ["vmlinuz", "initrd.img", "rootfs.img"] {
        link(building, &building.path(name), &format!("tree/images/pxeboot/{name}"))?;
    }
    zeros(building, "tree/images/ignition.img", IGNITION_AREA)?;
    zeros(building, "tree/coreos/miniso.dat", MINIMAL_AREA)?;
    link(building, &Path::new(ISOLINUX).join("isolinux.bin"), "tree/isolinux/isolinux.bin")?;
    for module in ["ldlinux.c32", "libcom32.c32", "libutil.c32"] {
        link(building, &Path::new(SYSLINUX).join(module), &format!("tree/isolinux/{module}"))?;
    }
    let default = arguments::default(&key::volume(building.kind));
    building.write(&format!("tree/{}", arguments::GRUB), arguments::grub(&default))?;
    building.write(&format!("tree/{}", arguments::ISOLINUX), arguments::isolinux(&default))?;
    json(building, "tree/coreos/kargs.json", &arguments::areas(&default))?;
    json(building, "tree/coreos/igninfo.json", &json!({ "file": "images/ignition.img" }))?;
    json(building, "tree/coreos/features.json", &recipe::features())
}

fn write(building: &Building, iso: &Path, without: &[&str]) -> Result<(), ImageError> {
    let volume = key::volume(building.kind);
    let mut xorriso = building.tools.command("xorrisofs")?;
    xorriso.arg("-o").arg(iso).args(["-V", &volume, "-volset", &volume]);
    // When this was built is in the times of the files alone.
    xorriso.arg("--set_all_file_dates").arg(format!("={}", recipe::EPOCH));
    // Primary names stay in 8.3: coreos-installer looks for no others.
    xorriso.args(["-rational-rock", "-J", "-joliet-long"]);
    xorriso.args(["-b", "isolinux/isolinux.bin", "-c", "isolinux/boot.cat"]);
    xorriso.args(["-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"]);
    xorriso.args(["-eltorito-alt-boot", "-e", "images/efiboot.img", "-no-emul-boot"]);
    xorriso.arg("-isohybrid-mbr").arg(Path::new(ISOLINUX).join("isohdpfx.bin")).arg("-isohybrid-gpt-basdat");
    for path in without {
        xorriso.args(["-m", &format!("tree/{path}")]);
    }
    building.tools.finish(xorriso.arg("tree"))
}

/// Puts a file into the tree without copying it, where that is possible.
fn link(building: &Building, from: &Path, to: &str) -> Result<(), ImageError> {
    let to: PathBuf = building.write(to, "")?;
    std::fs::remove_file(&to).map_err(|error| ImageError::io(&to, error))?;
    let linked = std::fs::hard_link(from, &to).or_else(|_| std::fs::copy(from, &to).map(|_| ()));
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ImageError::Tool {
            program: from.file_name().unwrap_or(OsStr::new("?")).display().to_string(),
        }),
        other => other.map_err(|error| ImageError::io(from, error)),
    }
}

fn zeros(building: &Building, name: &str, bytes: u64) -> Result<(), ImageError> {
    let path = building.write(name, "")?;
    let file = File::options().write(true).open(&path).map_err(|error| ImageError::io(&path, error))?;
    file.set_len(bytes).map_err(|error| ImageError::io(&path, error))
}

fn json(building: &Building, name: &str, value: &Value) -> Result<(), ImageError> {
    building.write(name, format!("{value:#}\n")).map(|_| ())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::Kind;
    use super::super::tool::Tools;
    use super::*;

    /// An ISO of small files that are so old.
    fn built(age: Duration) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let tools = Tools::new(dir.path(), &dir.path().join("build.log")).unwrap();
        let building = Building { kind: Kind::Plain, dir: dir.path(), tools };
        for name in ["vmlinuz", "initrd.img", "rootfs.img", "tree/images/efiboot.img"] {
            let path = building.write(name, [7; 4096]).unwrap();
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        }
        tree(&building).unwrap();
        let iso = building.path("live.iso");
        write(&building, &iso, &[]).unwrap();
        std::fs::read(iso).unwrap()
    }

    #[test]
    fn the_same_files_are_the_same_image_whenever_it_is_built() {
        let (now, before) = (built(Duration::ZERO), built(Duration::from_secs(86_400)));
        assert!(now == before, "the time of the build is in the image");
    }
}
