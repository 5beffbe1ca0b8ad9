//! Images made by hand, without any program of others: layers, configurations, lists of images, and what is attached to them.
//! Releases are packed with it, tests push what a registry may hold, the lab pushes what its machines run.

mod archive;
mod attached;
mod blob;
mod image;
mod layer;
mod push;
mod registry;
mod release;

pub use archive::write_archive;
pub use attached::Attached;
pub use blob::Blob;
pub use image::{Image, ImageConfig, Index, Manifest};
pub use layer::{Layer, Packing};
pub use push::{push, push_index};
pub use registry::{Login, PushError, Registry};
pub use release::ReleaseImage;
