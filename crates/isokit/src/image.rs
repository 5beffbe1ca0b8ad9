//! A live image, full or minimal: read once, customised any number of times.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::architecture::Architecture;
use crate::area::{self, ignition as ignition_area, kargs};
use crate::error::{Error, Result};
use crate::extent::{Extent, Layout};
use crate::ignition::{Archive, fits};
use crate::iso::{Iso, Node};

/// A base image and where its areas are.
#[derive(Debug)]
pub struct Image {
    layout: Layout,
    iso: Iso,
    architecture: Option<Architecture>,
    ignition: Range<u64>,
    ramdisk: Option<Range<u64>>,
    /// `None` when they were not found: such an image is still of use.
    kargs: Option<Vec<Range<u64>>>,
}

impl Image {
    /// Opens the image at `path`. It must not change while this is alive.
    ///
    /// # Errors
    /// When it is no live ISO, or only a part of one.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Self::read(Layout::file(Arc::new(file), len))
    }

    /// Reads the image that `layout` describes.
    ///
    /// # Errors
    /// When it is no live ISO, or only a part of one.
    pub fn read(layout: Layout) -> Result<Self> {
        let iso = Iso::read(&layout)?;
        Ok(Self {
            architecture: Architecture::of(&layout, &iso)?,
            ignition: ignition_area::find(&layout, &iso)?,
            ramdisk: area::ramdisk(&iso),
            kargs: kargs::append_areas(&layout, &iso).ok(),
            layout,
            iso,
        })
    }

    /// Its bytes, as they are without customisation.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn iso(&self) -> &Iso {
        &self.iso
    }

    /// `None` when its kernel is of no known kind.
    pub fn architecture(&self) -> Option<Architecture> {
        self.architecture
    }

    /// Longest Ignition archive that it takes, in bytes.
    pub fn ignition_area(&self) -> u64 {
        self.ignition.end - self.ignition.start
    }

    /// Longest ramdisk that it takes, in bytes; `None` on a full ISO.
    pub fn ramdisk_area(&self) -> Option<u64> {
        self.ramdisk.as_ref().map(|area| area.end - area.start)
    }

    /// The image with an Ignition config, with `kargs` after its own kernel arguments, and with a ramdisk that the boot
    /// loader loads behind the initramfs. Its length is that of the base. `Some` of an empty list still ends the line of
    /// arguments, as clients know it.
    ///
    /// # Errors
    /// When something is longer than its area, or the image has no area for it.
    pub fn customise(
        &self,
        ignition: &Archive,
        kargs: Option<&[String]>,
        ramdisk: Option<Bytes>,
    ) -> Result<Layout> {
        let mut layout = self.layout.clone();
        fits(ignition.len(), self.ignition_area())?;
        layout.overlay(self.ignition.start, ignition.bytes())?;
        // What the base may hold from before must not follow the archive.
        layout.overlay(
            self.ignition.start + ignition.len(),
            Extent::zeros(self.ignition_area() - ignition.len()),
        )?;
        if let Some(ramdisk) = ramdisk {
            let area = self.ramdisk.as_ref().ok_or(Error::NoRamdiskArea)?;
            fits(ramdisk.len() as u64, area.end - area.start)?;
            layout.overlay(area.start, ramdisk)?;
        }
        if let Some(kargs) = kargs {
            self.append(&mut layout, kargs)?;
        }
        Ok(layout)
    }

    fn append(&self, layout: &mut Layout, kargs: &[String]) -> Result<()> {
        if self.architecture == Some(Architecture::S390x) {
            return Err(Error::KargsOnS390x);
        }
        let text = Bytes::from(kargs::append_text(kargs)?);
        let areas = match &self.kargs {
            Some(areas) => areas.clone(),
            // Says why.
            None => kargs::append_areas(&self.layout, &self.iso)?,
        };
        for area in areas {
            fits(text.len() as u64, area.end - area.start)?;
            layout.overlay(area.start, text.clone())?;
        }
        Ok(())
    }

    /// The bytes of a file of this image.
    pub fn content(&self, node: &Node) -> Layout {
        let mut content = Layout::default();
        for extent in &node.extents {
            content.concat(&self.layout.part(extent.clone()));
        }
        content
    }
}
