//! What machines that boot over the network fetch: kernel, initramfs, root file system, and the extras of s390x
//! (image-service §1.6).

use crate::architecture::KERNELS;
use crate::error::{Error, Result};
use crate::extent::Layout;
use crate::ignition::Archive;
use crate::image::Image;
use crate::iso::Node;
use bytes::Bytes;

pub const INITRD: &str = "/images/pxeboot/initrd.img";
pub const ROOTFS: &str = "/images/pxeboot/rootfs.img";
const INS_FILE: &str = "/generic.ins";
const ADDRSIZE: &str = "/images/initrd.addrsize";

/// Least sizes of what an image must hold to be of use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    pub rootfs: u64,
    pub kernel: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { rootfs: 100 << 20, kernel: 5 << 20 }
    }
}

/// How the volume ids of live ISOs begin.
const VOLUME_IDS: [&str; 3] = ["rhcos-", "fedora-coreos-", "scos-"];

impl Image {
    /// The initramfs with the archive, the infra-env's ramdisk and `nmstate` (an archive with the `nmstatectl` program)
    /// behind it. Later archives win over earlier ones.
    ///
    /// # Errors
    /// When the image has no initramfs.
    pub fn pxe_initrd(
        &self,
        ignition: &Archive,
        ramdisk: Option<Bytes>,
        nmstate: Option<&Layout>,
    ) -> Result<Layout> {
        let mut initrd = self.content(self.iso().file(INITRD)?);
        initrd.push(ignition.bytes());
        if let Some(ramdisk) = ramdisk {
            initrd.push(ramdisk);
        }
        if let Some(nmstate) = nmstate {
            initrd.concat(nmstate);
        }
        Ok(initrd)
    }

    /// # Errors
    /// When the image has none.
    pub fn kernel(&self) -> Result<Layout> {
        Ok(self.content(self.kernel_file()?))
    }

    fn kernel_file(&self) -> Result<&Node> {
        let found = KERNELS.iter().find_map(|path| self.iso().find_file(path));
        found.ok_or_else(|| Error::NotFound(KERNELS[0].to_owned()))
    }

    /// # Errors
    /// When the image has none: minimal ISOs don't.
    pub fn rootfs(&self) -> Result<Layout> {
        Ok(self.content(self.iso().file(ROOTFS)?))
    }

    /// The list of what an s390x machine loads where.
    ///
    /// # Errors
    /// When the image has none: it is not for s390x.
    pub fn ins_file(&self) -> Result<Layout> {
        Ok(self.content(self.iso().file(INS_FILE)?))
    }

    /// Where an s390x machine loads an initramfs of `initrd` bytes, and that length: both big-endian, 64 bits.
    ///
    /// # Errors
    /// When the image does not say where.
    pub fn addrsize(&self, initrd: u64) -> Result<[u8; 16]> {
        let content = crate::area::read(self.layout(), ADDRSIZE, self.iso().file(ADDRSIZE)?)?;
        let address = content.first_chunk::<8>().ok_or_else(|| Error::file(ADDRSIZE, "is too short"))?;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(address);
        bytes[8..].copy_from_slice(&initrd.to_be_bytes());
        Ok(bytes)
    }

    /// Whether the image is what a version of CoreOS was published as, and not an error page or another system: its volume
    /// id, root file system and kernel (image-service §1.12).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, least: Thresholds) -> Result<()> {
        let volume_id = &self.iso().volume_id;
        if !VOLUME_IDS.iter().any(|prefix| volume_id.starts_with(prefix)) {
            return Err(Error::VolumeId(volume_id.clone()));
        }
        let check = |what: &str, file: Result<&Node>, least: u64| {
            let file = file.map_err(|error| Error::Artifact(format!("{what} not found in ISO: {error}")))?;
            if file.len() < least {
                let len = file.len();
                return Err(Error::Artifact(format!("{what} size {len} bytes is below minimum {least}")));
            }
            Ok(())
        };
        check("rootfs", self.iso().file(ROOTFS), least.rootfs)?;
        check("kernel", self.kernel_file(), least.kernel)
    }
}
