//! Which releases and images are offered.

use std::collections::BTreeMap;

use assisted_wire::version::{OsImages, ReleaseImages, ReleaseSources};
use serde::de::DeserializeOwned;

use super::part;

const OS_IMAGES: &str = include_str!("../../data/default_os_images.json");
const RELEASE_IMAGES: &str = include_str!("../../data/default_release_images.json");
const RELEASE_SOURCES: &str = include_str!("../../data/default_release_sources.json");
const MUST_GATHER: &str = include_str!("../../data/default_must_gather_versions.json");

part! {
    /// OS images, release images and where they come from.
    Versions {
        /// OS images that discovery images are made from.
        os_images: OsImages = built_in(OS_IMAGES);
        /// Release images that clusters are installed from.
        release_images: ReleaseImages = built_in(RELEASE_IMAGES);
        /// Channels that further release images are found in.
        release_sources: ReleaseSources = built_in(RELEASE_SOURCES);
        /// Versions that are not offered: full ones, or major.minor.
        ignored: Vec<String> = Vec::new();
        /// Images that collect data of a failed cluster, by version, then by the operator that they know.
        must_gather: BTreeMap<String, BTreeMap<String, String>> = built_in(MUST_GATHER);
    }
}

/// Reads data that is part of the program; a test holds that it can be read.
fn built_in<T: DeserializeOwned + Default>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use assisted_wire::version::ReleaseImage;

    use super::*;

    #[test]
    fn the_built_in_data_can_be_read() {
        let versions = Versions::default();
        assert_eq!(versions.os_images.0.len(), 47);
        assert_eq!(versions.release_images.0.len(), 36);
        assert!(!versions.release_sources.0.is_empty());
        assert!(!versions.must_gather.is_empty());
        assert!(versions.release_images.0.iter().any(|image| image.default));
        let serves =
            |image: &ReleaseImage| image.cpu_architectures.as_ref().is_some_and(|list| !list.is_empty());
        assert!(versions.release_images.0.iter().all(serves));
    }
}
