//! ImageDigestMirrorSet: mirrors for images that are pulled by digest.

use serde::{Deserialize, Serialize};

use crate::config::common::ImageMirrors;
use crate::resource::resource;

resource! {
    /// Mirrors for images that are pulled by digest.
    ImageDigestMirrorSet, "config.openshift.io", "v1", "imagedigestmirrorsets", Cluster {
        spec: ImageDigestMirrorSetSpec,
    }
}

/// The mirrors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ImageDigestMirrorSetSpec {
    /// Mirrors, one entry per source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_digest_mirrors: Vec<ImageMirrors>,
}
