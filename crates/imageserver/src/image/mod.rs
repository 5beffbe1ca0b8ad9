//! What is served: a base image, and what is laid over it for one infra-env.

mod base_image;
mod overlay;
mod overlay_cache;

pub(crate) use base_image::{Artifact, BaseImage, BaseImageError, Support};
pub(crate) use overlay::{ImageKind, Overlay};
pub(crate) use overlay_cache::{OverlayCache, OverlayError, OverlayRequest, Step};
