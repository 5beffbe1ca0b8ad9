//! Images made by hand, and releases made of them, pushed into a registry that a test has started.

mod release;

use crate::DockerRegistry;

pub use assisted_oci::{Blob, Image, Index, Layer, Manifest, PushError, ReleaseImage};
pub use release::{OPENSHIFT_INSTALL, installer, push_release, release_tag};

/// Pushes an image, under a tag if one is told; gives its name by digest.
pub async fn push(
    registry: &DockerRegistry,
    repository: &str,
    tag: Option<&str>,
    image: &Image,
) -> Result<String, PushError> {
    assisted_oci::push(&registry.name(), repository, tag, image).await
}

/// Pushes a list of images with all that is in it.
pub async fn push_index(
    registry: &DockerRegistry,
    repository: &str,
    tag: Option<&str>,
    index: &Index,
) -> Result<String, PushError> {
    assisted_oci::push_index(&registry.name(), repository, tag, index).await
}
