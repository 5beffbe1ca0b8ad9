//! ImageTagMirrorSet: mirrors for images that are pulled by tag.

use serde::{Deserialize, Serialize};

use crate::config::common::ImageMirrors;
use crate::resource::resource;

resource! {
    /// Mirrors for images that are pulled by tag.
    ImageTagMirrorSet, "config.openshift.io", "v1", "imagetagmirrorsets", Cluster {
        spec: ImageTagMirrorSetSpec,
    }
}

/// The mirrors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageTagMirrorSetSpec {
    /// Mirrors, one entry per source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_tag_mirrors: Vec<ImageMirrors>,
}
