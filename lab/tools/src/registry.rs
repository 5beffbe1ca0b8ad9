//! Where Debian's registry keeps images, and gives them out.

use std::path::{Path, PathBuf};

/// The repository of the parts of the lab's releases.
pub const RELEASE_PARTS: &str = "ocp/art";

/// Where a registry without TLS gives out something of [`RELEASE_PARTS`], by its digest, to anyone.
pub fn release_part_url(registry: &str, digest: &str) -> String {
    format!("http://{registry}/v2/{RELEASE_PARTS}/blobs/{digest}")
}

/// The file of a part of an image, by its digest, below the folder that a registry serves.
pub fn blob(folder: &Path, digest: &str) -> Option<PathBuf> {
    let digest = digest.strip_prefix("sha256:")?;
    let kept = folder.join("docker/registry/v2/blobs/sha256");
    Some(kept.join(digest.get(..2)?).join(digest).join("data"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_parts_of_images_are() {
        let found = |digest| blob(Path::new("/r"), digest);
        let expected = Path::new("/r/docker/registry/v2/blobs/sha256/ab/abcd/data");
        assert_eq!(found("sha256:abcd").as_deref(), Some(expected));
        assert_eq!((found("md5:abcd"), found("sha256:a")), (None, None));
    }
}
