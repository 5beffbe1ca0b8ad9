//! What belongs to an image without being part of it: a list of what is in it, a signature. It is a manifest of its own that names
//! the image; whoever has the image finds it by a tag made of the image's digest.

use std::collections::BTreeMap;
use std::io;

use serde_json::json;

use crate::blob::Blob;
use crate::image::{INDEX, MANIFEST, Manifest, descriptor};

/// The configuration of what has none.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// Something attached to an image.
#[derive(Clone, Debug)]
pub struct Attached {
    pub manifest: Manifest,
    /// The tag that leads to it.
    pub tag: String,
    pub(crate) blobs: Vec<Blob>,
    /// The list that the tag stands for, where it is not the manifest itself.
    pub(crate) list: Option<Manifest>,
}

impl Attached {
    /// A document of a media type. It is found by the list of what refers to the image, under the tag that the OCI distribution
    /// specification names for registries that keep no such list themselves.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn document(to: &Manifest, media_type: &str, content: &[u8]) -> io::Result<Self> {
        let (config, layer) = (Blob::of(b"{}")?, Blob::of(content)?);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": media_type,
            "config": descriptor(&config, EMPTY), "layers": [descriptor(&layer, media_type)],
            "subject": to.descriptor(),
        });
        let manifest = Manifest::new(&manifest, MANIFEST);
        let mut listed = manifest.descriptor();
        listed["artifactType"] = media_type.into();
        let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [listed]});
        let list = Some(Manifest::new(&list, INDEX));
        Ok(Self { manifest, tag: tag(to, ""), blobs: vec![config, layer], list })
    }

    /// A signature, as cosign attaches it: the layer is what is signed, and an annotation of it is the signature.
    ///
    /// # Errors
    /// When nothing can be kept on disk.
    pub fn signature(
        to: &Manifest,
        media_type: &str,
        signed: &[u8],
        annotations: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let layer = Blob::of(signed)?;
        let config = json!({
            "architecture": "", "os": "", "config": {},
            "rootfs": {"type": "layers", "diff_ids": [layer.digest]},
        });
        let config = Blob::of(config.to_string().as_bytes())?;
        let mut listed = descriptor(&layer, media_type);
        listed["annotations"] = json!(annotations);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(&config, CONFIG), "layers": [listed],
        });
        let manifest = Manifest::new(&manifest, MANIFEST);
        Ok(Self { manifest, tag: tag(to, ".sig"), blobs: vec![config, layer], list: None })
    }
}

/// The tag of what belongs to a manifest.
fn tag(to: &Manifest, end: &str) -> String {
    format!("{}{end}", to.digest.replace(':', "-"))
}
