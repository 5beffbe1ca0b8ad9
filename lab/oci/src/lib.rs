//! Images made by hand, and releases made of them, for a registry of one's own: tests push what a registry may hold, the
//! lab pushes what its machines run.

mod image;
mod layer;
mod push;
mod release;

pub use image::{Blob, Image, Index, Manifest};
pub use layer::Layer;
pub use push::{PushError, push, push_index};
pub use release::ReleaseImage;
