//! ext4 images, the same bytes each time: made from a packed copy of their files, in which every date is fixed, also those
//! that nobody can set in a folder. Those of XFS, where what lays images onto disks asks for it, are the same but for dates.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::image::{Building, ImageError, recipe};

/// Makes `NAME.ext4` of so many MiB with the files in an archive.
pub(super) fn of_tar(
    building: &Building,
    tar: &Path,
    name: &str,
    uuid: &str,
    mib: u64,
) -> Result<PathBuf, ImageError> {
    let mut squash = building.tools.command("mksquashfs")?;
    squash.arg("-").arg(format!("{name}.packed")).arg("-tar");
    squash.stdin(File::open(tar).map_err(|error| ImageError::io(tar, error))?);
    of_packed(building, &mut squash, name, uuid, mib)
}

/// Makes `NAME.ext4` of so many MiB with what is in the folder `NAME`, as root's own.
pub(super) fn of_dir(building: &Building, name: &str, uuid: &str, mib: u64) -> Result<PathBuf, ImageError> {
    let mut squash = building.tools.command("mksquashfs")?;
    squash.arg(name).arg(format!("{name}.packed")).arg("-all-root");
    of_packed(building, &mut squash, name, uuid, mib)
}

/// How many bytes the files of a folder fill.
pub(super) fn size(building: &Building, folder: &str) -> Result<u64, ImageError> {
    let mut count = building.tools.command("du")?;
    let told = building.tools.output(count.args(["--summarize", "--block-size=1"]).arg(folder))?;
    let bytes = told.split_whitespace().next().and_then(|bytes| bytes.parse().ok());
    bytes.ok_or_else(|| ImageError::io(&building.path(folder), std::io::ErrorKind::InvalidData.into()))
}

/// Makes `NAME.xfs` of so many MiB with what is in a folder, links and owners as they are there.
pub(super) fn xfs(
    building: &Building,
    folder: &str,
    name: &str,
    uuid: &str,
    mib: u64,
) -> Result<PathBuf, ImageError> {
    let image = building.path(&format!("{name}.xfs"));
    let file = File::create(&image).map_err(|error| ImageError::io(&image, error))?;
    file.set_len(mib << 20).map_err(|error| ImageError::io(&image, error))?;
    drop(file);
    let mut format = building.tools.command("mkfs.xfs")?;
    building.tools.finish(format.args(["-q", "-L", name, "-m", &format!("uuid={uuid}")]).arg(&image))?;
    let files = Mounted::new(building, &image, &building.path(&format!("{name}.files")), "loop")?;
    let mut copy = building.tools.command("cp")?;
    building.tools.finish(copy.arg("--archive").arg(format!("{folder}/.")).arg(&files.at))?;
    files.unmount()?;
    Ok(image)
}

fn of_packed(
    building: &Building,
    squash: &mut Command,
    name: &str,
    uuid: &str,
    mib: u64,
) -> Result<PathBuf, ImageError> {
    squash.args(["-comp", "lz4", "-no-progress", "-reproducible"]);
    building.tools.finish(squash)?;
    let packed = building.path(&format!("{name}.packed"));
    let files = Mounted::new(building, &packed, &building.path(&format!("{name}.files")), "loop,ro")?;
    let image = building.path(&format!("{name}.ext4"));
    let mut format = building.tools.command("mke2fs")?;
    format.args(["-q", "-t", "ext4", "-L", name, "-U", uuid, "-O", "^metadata_csum_seed,^orphan_file"]);
    // How names are hashed, and whether tables are written now or later: nothing is left to chance or to the kernel.
    format.arg("-E").arg(format!("hash_seed={uuid},lazy_itable_init=0,lazy_journal_init=0"));
    format.env("E2FSPROGS_FAKE_TIME", recipe::EPOCH.to_string());
    building.tools.finish(format.arg("-d").arg(&files.at).arg(&image).arg(format!("{mib}M")))?;
    files.unmount()?;
    std::fs::remove_file(&packed).map_err(|error| ImageError::io(&packed, error))?;
    Ok(image)
}

/// A mounted file system; also whoever fails leaves none behind.
struct Mounted<'a> {
    building: &'a Building<'a>,
    at: PathBuf,
    mounted: bool,
}

impl<'a> Mounted<'a> {
    fn new(building: &'a Building<'a>, image: &Path, at: &Path, options: &str) -> Result<Self, ImageError> {
        std::fs::create_dir_all(at).map_err(|error| ImageError::io(at, error))?;
        let mut mount = building.tools.command("mount")?;
        building.tools.finish(mount.args(["-o", options]).arg(image).arg(at))?;
        Ok(Self { building, at: at.to_owned(), mounted: true })
    }

    fn unmount(mut self) -> Result<(), ImageError> {
        self.mounted = false;
        self.building.tools.run("umount", [&self.at])
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if self.mounted {
            let _ = self.building.tools.run("umount", [&self.at]);
        }
    }
}
