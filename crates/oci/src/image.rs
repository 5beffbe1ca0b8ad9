//! Images: manifests, configurations, and lists of images.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::blob::{Blob, name};

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A manifest or a list of them.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub text: String,
    pub media_type: &'static str,
    /// `sha256:…`
    pub digest: String,
}

impl Manifest {
    pub(crate) fn new(value: &Value, media_type: &'static str) -> Self {
        let text = value.to_string();
        Self { digest: name(&Sha256::digest(&text)), text, media_type }
    }

    /// How another manifest refers to it.
    pub(crate) fn descriptor(&self) -> Value {
        json!({"mediaType": self.media_type, "digest": self.digest, "size": self.text.len()})
    }
}

/// How a blob is referred to.
pub(crate) fn descriptor(blob: &Blob, media_type: &str) -> Value {
    json!({"mediaType": media_type, "digest": blob.digest, "size": blob.size})
}

/// How containers of an image run, unless they are told otherwise, and what the image says of itself.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ImageConfig {
    /// Program, which arguments of a container are added to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// Arguments, or program and arguments, that those of a container take the place of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cmd: Vec<String>,
    /// `NAME=VALUE`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// `UID:GID`; empty: root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// When it was made, in RFC 3339; empty: not told.
    #[serde(skip)]
    pub created: String,
    /// Whether each layer has an entry in the image's history: who builds on top of an image wants that.
    #[serde(skip)]
    pub history: bool,
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
        Self::configured(architecture, layers, &ImageConfig::default())
    }

    /// The same, for a container that runs a program with arguments.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn running(architecture: &str, layers: Vec<Blob>, program: &[&str]) -> io::Result<Self> {
        let entrypoint = program.iter().map(|word| (*word).to_owned()).collect();
        Self::configured(architecture, layers, &ImageConfig { entrypoint, ..ImageConfig::default() })
    }

    /// The same, with a configuration.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn configured(architecture: &str, layers: Vec<Blob>, config: &ImageConfig) -> io::Result<Self> {
        let differences: Vec<_> = layers.iter().map(|layer| &layer.content).collect();
        let mut document = json!({
            "architecture": architecture, "os": "linux", "config": config,
            "rootfs": {"type": "layers", "diff_ids": differences},
        });
        if config.history {
            let entries: Vec<_> = layers.iter().map(|_| json!({"created_by": "layer"})).collect();
            document["history"] = json!(entries);
        }
        if !config.created.is_empty() {
            document["created"] = config.created.as_str().into();
        }
        let document = Blob::of(document.to_string().as_bytes())?;
        let parts: Vec<_> = layers.iter().map(|layer| descriptor(layer, LAYER)).collect();
        let mut manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(&document, CONFIG), "layers": parts,
        });
        if !config.labels.is_empty() {
            manifest["annotations"] = json!(config.labels);
        }
        let blobs = std::iter::once(document).chain(layers).collect();
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
            let mut listed = image.manifest.descriptor();
            listed["platform"] = json!({"architecture": image.architecture, "os": "linux"});
            listed
        });
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed.collect::<Vec<_>>()});
        Self { manifest: Manifest::new(&index, INDEX), images }
    }
}
