//! Where Debian's registry keeps images.

use std::path::{Path, PathBuf};

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
