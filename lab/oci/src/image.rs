//! Images: manifests, configurations, and lists of images.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A part of an image, kept on disk without a name.
#[derive(Clone, Debug)]
pub struct Blob {
    pub(super) file: Arc<File>,
    /// `sha256:…`
    pub digest: String,
    /// Bytes.
    pub size: u64,
    /// The digest of what is packed in a layer.
    content: String,
}

impl Blob {
    pub(super) fn new(file: File, digest: &[u8], size: u64) -> Self {
        Self { file: Arc::new(file), digest: name(digest), size, content: String::new() }
    }

    pub(super) fn unpacked(mut self, digest: &[u8]) -> Self {
        self.content = name(digest);
        self
    }

    fn of(bytes: &[u8]) -> io::Result<Self> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        Ok(Self::new(file, &Sha256::digest(bytes), bytes.len() as u64))
    }
}

fn name(digest: &[u8]) -> String {
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A manifest or a list of them.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub text: String,
    pub media_type: &'static str,
    /// `sha256:…`
    pub digest: String,
}

impl Manifest {
    fn new(value: &Value, media_type: &'static str) -> Self {
        let text = value.to_string();
        Self { digest: name(&Sha256::digest(&text)), text, media_type }
    }
}

/// An image for one architecture.
#[derive(Clone, Debug)]
pub struct Image {
    pub manifest: Manifest,
    /// In the words of Go: `amd64`.
    pub architecture: String,
    /// The configuration and the layers.
    pub blobs: Vec<Blob>,
}

impl Image {
    /// An image of layers, the lowest first.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn new(architecture: &str, layers: Vec<Blob>) -> io::Result<Self> {
        Self::running(architecture, layers, &[])
    }

    /// The same, for a container that runs a program with arguments.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn running(architecture: &str, layers: Vec<Blob>, program: &[&str]) -> io::Result<Self> {
        let differences: Vec<_> = layers.iter().map(|layer| &layer.content).collect();
        let settings = if program.is_empty() { json!({}) } else { json!({"Entrypoint": program}) };
        let config = json!({
            "architecture": architecture, "os": "linux", "config": settings,
            "rootfs": {"type": "layers", "diff_ids": differences},
        });
        let config = Blob::of(config.to_string().as_bytes())?;
        let part = |blob: &Blob, kind| json!({"mediaType": kind, "digest": blob.digest, "size": blob.size});
        let parts: Vec<_> = layers.iter().map(|layer| part(layer, LAYER)).collect();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": part(&config, CONFIG), "layers": parts,
        });
        let blobs = std::iter::once(config).chain(layers).collect();
        Ok(Self {
            manifest: Manifest::new(&manifest, MANIFEST),
            architecture: architecture.to_owned(),
            blobs,
        })
    }
}

/// A list of images for several architectures.
#[derive(Clone, Debug)]
pub struct Index {
    pub manifest: Manifest,
    pub images: Vec<Image>,
}

impl Index {
    /// A list of images.
    pub fn new(images: Vec<Image>) -> Self {
        let listed = images.iter().map(|image| {
            json!({
                "mediaType": MANIFEST, "digest": image.manifest.digest, "size": image.manifest.text.len(),
                "platform": {"architecture": image.architecture, "os": "linux"},
            })
        });
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed.collect::<Vec<_>>()});
        Self { manifest: Manifest::new(&index, INDEX), images }
    }
}
