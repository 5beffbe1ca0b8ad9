//! The minimal ISO: the full one without its root file system, which the host fetches from the image service instead
//! (image-service §2.9).
//!
//! It is no file: descriptors, directories and edited boot configurations are a few kilobytes in memory, everything else
//! points into the full ISO. Making one takes milliseconds, so it is made whenever the process starts.

mod config;
mod hybrid;
mod medium;
mod tree;

use bytes::Bytes;

use crate::architecture::Architecture;
use crate::area::kargs::{self, Description};
use crate::area::{self, miniso};
use crate::error::{Error, Result};
use crate::extent::{Extent, Layout};
use crate::image::Image;
use crate::pxe::ROOTFS;
use config::{Config, Initrds};
use tree::{Changes, Tree};

/// Room for the infra-env's ramdisk, in bytes.
const RAMDISK_AREA: u64 = 1 << 20;
/// The first that exists is the configuration of GRUB.
const GRUB_CONFIGS: [&str; 4] =
    ["/EFI/redhat/grub.cfg", "/EFI/fedora/grub.cfg", "/boot/grub/grub.cfg", "/EFI/centos/grub.cfg"];
const ISOLINUX_CONFIG: &str = "/isolinux/isolinux.cfg";

impl Image {
    /// The minimal ISO of this full one. Hosts that boot it fetch their root file system from `rootfs_url`. `nmstate` is an
    /// archive with the `nmstatectl` program for initramfs scripts that want one.
    ///
    /// # Errors
    /// When the image is no full ISO, is for s390x, its boot configuration is missing or is not as it should be, or the URL
    /// holds what a boot loader would read as its own.
    pub fn minimal(&self, rootfs_url: &str, nmstate: Option<&Layout>) -> Result<Self> {
        if self.architecture() == Some(Architecture::S390x) {
            return Err(Error::NoMinimal("images for s390x have none".into()));
        }
        let mut changes = Changes::default();
        let find = |path: &str| self.iso().find(path).ok_or_else(|| Error::NotFound(path.to_owned()));
        changes.removed.push(find(ROOTFS)?);
        // A recipe for the full ISO is of no use with a minimal one.
        changes.removed.extend(self.iso().find(miniso::FILE));
        let images = find("/images")?;
        let name = |path: &'static str| path.rsplit('/').next().unwrap_or(path);
        changes.added.push((images, name(area::RAMDISK), Extent::zeros(RAMDISK_AREA).into()));
        if let Some(nmstate) = nmstate {
            changes.added.push((images, name(config::NMSTATE), nmstate.clone()));
        }
        self.edit(&mut changes, &config::rootfs_karg(rootfs_url)?, &Initrds::new(nmstate.is_some()))?;
        Self::read(medium::write(self, Tree::new(self, &changes)?)?)
    }

    /// Edits the boot configurations and what describes their areas.
    fn edit(&self, changes: &mut Changes, rootfs: &str, initrds: &Initrds) -> Result<()> {
        let mut description = kargs::description(self.layout(), self.iso())?;
        let grub = GRUB_CONFIGS
            .iter()
            .find(|path| self.iso().find_file(path).is_some())
            .ok_or_else(|| Error::NotFound(GRUB_CONFIGS.join(", ")))?;
        self.edit_config(grub, &mut description, changes, |config| config.edit_grub(rootfs, initrds))?;
        if self.architecture() != Some(Architecture::Ppc64le) {
            self.edit_config(ISOLINUX_CONFIG, &mut description, changes, |config| {
                config.edit_isolinux(rootfs, initrds)
            })?;
        }
        if let (Some(mut description), Some(index)) = (description, self.iso().find(kargs::FILE)) {
            let default = config::edit_default(&description.default, rootfs);
            let size =
                (description.size + default.len() as u64).checked_sub(description.default.len() as u64);
            description.size =
                size.ok_or_else(|| Error::file(kargs::FILE, "its default is longer than its size"))?;
            description.default = default;
            changes.replaced.insert(index, json(&description)?);
        }
        Ok(())
    }

    fn edit_config(
        &self,
        path: &str,
        description: &mut Option<Description>,
        changes: &mut Changes,
        edit: impl FnOnce(&mut Config<'_>) -> Result<()>,
    ) -> Result<()> {
        let index = self.iso().find(path).ok_or_else(|| Error::NotFound(path.to_owned()))?;
        let text = area::read(self.layout(), path, self.iso().node(index))?;
        let place = description.as_mut().and_then(|description| {
            description.files.iter_mut().find(|file| path.strip_prefix('/') == Some(&file.path))
        });
        let mut config = Config::new(path, text, place.as_ref().map(|place| place.offset));
        edit(&mut config)?;
        if let (Some(place), Some(area)) = (place, config.area) {
            place.offset = area;
        }
        changes.replaced.insert(index, config.text.into());
        Ok(())
    }
}

/// Indented by two spaces, without a line feed at the end.
fn json(description: &Description) -> Result<Bytes> {
    serde_json::to_vec_pretty(description)
        .map(Bytes::from)
        .map_err(|error| Error::file(kargs::FILE, error.to_string()))
}
