//! The description of a disk image by the objects of a live system: `coreos-installer pack osmet` makes it of a block
//! device, and tries at once whether the image comes out of it again.

use std::path::Path;

use crate::image::{Building, ImageError, digest, recipe};

/// Makes `metal.osmet` of a disk image.
pub(super) fn pack(building: &Building, installer: &Path, disk: &Path) -> Result<(), ImageError> {
    let device = Loop::new(building, disk)?;
    let mut pack = building.tools.command(installer)?;
    pack.args(["pack", "osmet", "--output", "metal.osmet", "--checksum", &digest(disk)?]);
    pack.arg("--description").arg(format!("Lab {}", recipe::VERSION)).arg(&device.path);
    building.tools.finish(&mut pack)
}

/// A disk image as a disk with partitions.
struct Loop<'a> {
    building: &'a Building<'a>,
    path: String,
}

impl<'a> Loop<'a> {
    fn new(building: &'a Building<'a>, disk: &Path) -> Result<Self, ImageError> {
        let mut setup = building.tools.command("losetup")?;
        let path =
            building.tools.output(setup.args(["--find", "--show", "--partscan", "--read-only"]).arg(disk))?;
        let device = Self { building, path };
        // Kernels that read no partition tables are told what stands there.
        building.tools.run("partx", ["--update", &device.path])?;
        if Path::new("/run/udev/control").exists() {
            building.tools.run("udevadm", ["settle"])?;
        }
        Ok(device)
    }
}

impl Drop for Loop<'_> {
    fn drop(&mut self) {
        let _ = self.building.tools.run("losetup", ["--detach", &self.path]);
    }
}
