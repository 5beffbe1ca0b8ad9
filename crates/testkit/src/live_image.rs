//! A small live image, from which the image service makes discovery images.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::Error;

const PROGRAM: &str = "xorriso";

/// A live image with all that the image service looks for, and nothing that boots. It is too small to be fetched, for what is fetched is held to the
/// sizes of real images: the image service takes it from where it is.
#[derive(Debug)]
pub struct LiveImage {
    pub path: PathBuf,
}

impl LiveImage {
    /// What the room for an Ignition config is filled with, so that it is easily found.
    pub const AREA: u8 = 0xee;
    /// Bytes of that room.
    pub const AREA_SIZE: usize = 256 << 10;

    /// Makes one in a folder.
    ///
    /// # Errors
    /// When xorriso is not installed, or fails.
    pub fn make(dir: &Path) -> Result<Self, Error> {
        let tree = dir.join("tree");
        for (folder, name, content) in [
            ("images/pxeboot", "vmlinuz", vec![1; 4096]),
            ("images/pxeboot", "initrd.img", vec![2; 10_000]),
            ("images/pxeboot", "rootfs.img", vec![3; 1 << 20]),
            ("images", "ignition.img", vec![Self::AREA; Self::AREA_SIZE]),
            ("coreos", "igninfo.json", br#"{"file": "images/ignition.img"}"#.to_vec()),
        ] {
            let folder = tree.join(folder);
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(name), content)?;
        }
        let path = dir.join("base.iso");
        let made = Command::new(PROGRAM)
            .args(["-as", "mkisofs", "-quiet", "-V", "rhcos-test", "-R", "-o"])
            .args([&path, &tree])
            .output()
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => Error::NotInstalled { program: PROGRAM },
                _ => Error::Run { program: PROGRAM, source },
            })?;
        if made.status.success() {
            Ok(Self { path })
        } else {
            let output = String::from_utf8_lossy(&made.stderr).into_owned();
            Err(Error::Failed { program: PROGRAM, output })
        }
    }

    /// The setting `OS_IMAGES` with this image alone.
    pub fn list(&self) -> String {
        let url = format!("file://{}", self.path.display());
        let image = json!({"openshift_version": "4.20", "cpu_architecture": "x86_64", "version": "420.1", "url": url});
        json!([image]).to_string()
    }
}
