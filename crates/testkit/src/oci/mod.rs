//! Images made by hand, and releases made of them, for a registry of one's own.

mod image;
mod layer;
mod push;
mod release;

pub use image::{Blob, Image, Index, Manifest};
pub use layer::Layer;
pub use push::{PushError, push, push_index};
pub use release::{OPENSHIFT_INSTALL, ReleaseImage, installer, push_release};
