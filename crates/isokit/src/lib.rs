//! Live ISOs as lists of extents: file ranges of a cached base image, and small byte strings laid over them. No HTTP.
//!
//! [`Image::open`] reads a base once; [`Image::customise`], [`Image::minimal`] and [`Image::pxe_initrd`] each give a
//! [`Layout`], which is streamed by whoever serves it. [`inspect`] looks into any image.

pub mod architecture;
pub mod area;
pub mod cpio;
mod error;
pub mod extent;
pub mod ignition;
mod image;
pub mod inspect;
pub mod iso;
mod minimal;
pub mod pxe;
pub mod read;

pub use architecture::Architecture;
pub use error::Error;
pub use extent::{Extent, Layout, Source};
pub use ignition::Archive;
pub use image::Image;
pub use inspect::{Inspection, inspect};
pub use pxe::Thresholds;
pub use read::ReadAt;
