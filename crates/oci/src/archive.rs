//! Images in a file: the archive of an OCI image layout, which podman and skopeo read as `oci-archive:FILE`.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use serde_json::json;
use tar::{Builder, Header};

use crate::Index;

/// Writes a list of images, under a name, as an archive. The same images give the same bytes.
///
/// # Errors
/// When it can't be written.
pub fn write_archive(index: &Index, name: &str, to: impl Write) -> io::Result<()> {
    let mut archive = Builder::new(to);
    let layout = json!({"imageLayoutVersion": "1.0.0"}).to_string();
    let mut listed = index.manifest.descriptor();
    listed["annotations"] = json!({"org.opencontainers.image.ref.name": name});
    let root = json!({"schemaVersion": 2, "manifests": [listed]}).to_string();
    add(&mut archive, "oci-layout", layout.as_bytes(), layout.len() as u64)?;
    add(&mut archive, "index.json", root.as_bytes(), root.len() as u64)?;
    let mut written = BTreeSet::new();
    let manifests = std::iter::once(&index.manifest).chain(index.images.iter().map(|image| &image.manifest));
    for manifest in manifests {
        let text = manifest.text.as_bytes();
        if written.insert(&manifest.digest) {
            add(&mut archive, &place(&manifest.digest), text, text.len() as u64)?;
        }
    }
    for blob in index.images.iter().flat_map(|image| &image.blobs) {
        if written.insert(&blob.digest) {
            add(&mut archive, &place(&blob.digest), blob.read()?, blob.size)?;
        }
    }
    archive.into_inner()?.flush()
}

fn place(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

fn add(archive: &mut Builder<impl Write>, path: &str, content: impl Read, size: u64) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    archive.append_data(&mut header, path, content)
}
