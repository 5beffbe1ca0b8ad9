//! ClusterImageSet: a release.

use serde::{Deserialize, Serialize};

use crate::resource::resource;

resource! {
    /// A release of OpenShift by its image.
    ClusterImageSet, "hive.openshift.io", "v1", "clusterimagesets", Cluster {
        spec: ClusterImageSetSpec,
    }
}

/// The release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterImageSetSpec {
    /// Reference of the release image.
    pub release_image: String,
}
