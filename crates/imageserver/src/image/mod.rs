//! What is served: a base image, and what is laid over it for one infra-env.

mod base_image;
mod overlay;

pub(crate) use base_image::{Artifact, BaseImage, BaseImageError, Support};
pub(crate) use overlay::{ImageKind, Overlay, OverlayCache, OverlayError, OverlayRequest, Step};
