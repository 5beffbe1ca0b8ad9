//! Releases: the image whose last layer names the others.

use std::io;

use serde_json::json;

use crate::{Image, Layer};

/// The version of Kubernetes that releases with a component `hyperkube` say they bring.
pub const KUBERNETES: &str = "1.33.4";

/// The facts that a release image holds: version, architecture, images of its components.
#[derive(Clone, Debug)]
pub struct ReleaseImage {
    pub version: String,
    /// In the words of Go: `amd64`.
    pub architecture: String,
    /// Names of components and of their images.
    pub components: Vec<(String, String)>,
    /// The program in its lower layer, which nobody runs.
    pub operator: Vec<u8>,
}

impl ReleaseImage {
    /// The image.
    pub fn build(&self) -> io::Result<Image> {
        let tags = self.components.iter().map(|(name, image)| {
            let versions = format!("kubernetes={KUBERNETES}");
            let annotations = match name.as_str() {
                "hyperkube" => json!({"io.openshift.build.versions": versions}),
                _ => json!({}),
            };
            json!({"name": name, "annotations": annotations, "from": {"kind": "DockerImage", "name": image}})
        });
        let references = json!({
            "kind": "ImageStream", "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": self.version, "creationTimestamp": null},
            "spec": {"lookupPolicy": {"local": false}, "tags": tags.collect::<Vec<_>>()},
        });
        let metadata = json!({
            "kind": "cincinnati-metadata-v0", "version": self.version, "previous": [],
            "metadata": {"url": "https://example.com/errata"},
        });
        let below = Layer::new()?.file("usr/bin/cluster-version-operator", &self.operator)?.finish()?;
        let top = Layer::new()?
            .file("release-manifests/0000_00_first.yaml", b"kind: Namespace\n")?
            .file("release-manifests/image-references", references.to_string().as_bytes())?
            .file("release-manifests/release-metadata", metadata.to_string().as_bytes())?
            .finish()?;
        Image::new(&self.architecture, vec![below, top])
    }
}
