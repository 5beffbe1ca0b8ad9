//! Releases: the image whose last layer names the others.

use std::io::{self, Read};

use serde_json::json;

use super::{Blob, Image, Layer, PushError, push};
use crate::DockerRegistry;

/// The installer program of releases that are made here: it takes the command line of the real one, and leaves files of the same
/// names, places and forms.
pub const OPENSHIFT_INSTALL: &str = include_str!("openshift-install.sh");

/// What a release says of itself.
#[derive(Clone, Debug)]
pub struct ReleaseImage {
    pub version: String,
    /// In the words of Go: `amd64`.
    pub architecture: String,
    /// Names of components and of their images.
    pub components: Vec<(String, String)>,
}

impl ReleaseImage {
    /// The image.
    pub fn build(&self) -> io::Result<Image> {
        let tags = self.components.iter().map(|(name, image)| {
            json!({"name": name, "annotations": {}, "from": {"kind": "DockerImage", "name": image}})
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
        let below = Layer::new()?.file("usr/bin/cluster-version-operator", b"")?.finish()?;
        let top = Layer::new()?
            .file("release-manifests/0000_00_first.yaml", b"kind: Namespace\n")?
            .file("release-manifests/image-references", references.to_string().as_bytes())?
            .file("release-manifests/release-metadata", metadata.to_string().as_bytes())?
            .finish()?;
        Image::new(&self.architecture, vec![below, top])
    }
}

/// Pushes a small release, with an installer program, under the tag that releases of a version have: `ocp/release:VERSION-x86_64`,
/// and its parts to `ocp/art`.
pub async fn push_release(registry: &DockerRegistry, version: &str, program: &[u8]) -> Result<(), PushError> {
    let installer = Image::new("amd64", installer(program, program.len() as u64)?)?;
    let installer = push(registry, "ocp/art", None, &installer).await?;
    let other = Image::new("amd64", vec![Layer::new()?.file("etc/x", b"x")?.finish()?])?;
    let other = push(registry, "ocp/art", None, &other).await?;
    let names = ["machine-config-operator", "must-gather", "rhel-coreos"];
    let components = names.iter().map(|name| ((*name).to_owned(), other.clone()));
    let release = ReleaseImage {
        version: version.to_owned(),
        architecture: "amd64".to_owned(),
        components: components.chain([("installer".to_owned(), installer)]).collect(),
    };
    push(registry, "ocp/release", Some(&format!("{version}-x86_64")), &release.build()?).await?;
    Ok(())
}

/// The layers of an image with an installer program: below it what any image has.
pub fn installer(program: impl Read, size: u64) -> io::Result<Vec<Blob>> {
    let below = Layer::new()?.file("etc/os-release", b"ID=test\n")?.symlink("bin", "usr/bin")?.finish()?;
    let top = Layer::new()?.file_from("usr/bin/openshift-install", program, size)?.finish()?;
    Ok(vec![below, top])
}
