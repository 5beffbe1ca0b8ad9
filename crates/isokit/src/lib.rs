//! Live ISOs as lists of extents: file ranges of a cached base image, and small byte strings laid over them. No HTTP.

pub mod extent;
pub mod read;

pub use extent::{Extent, Layout, Source};
pub use read::ReadAt;
