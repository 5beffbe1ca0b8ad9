//! A small release, and an installer program for it.

use std::io::{self, Read};

use super::{Blob, Image, Layer, PushError, ReleaseImage, push};
use crate::DockerRegistry;

/// The installer program of releases that are made here: it takes the command line of the real one, and leaves files of the same
/// names, places and forms.
pub const OPENSHIFT_INSTALL: &str = include_str!("openshift-install.sh");

/// Pushes a small release, with an installer program, as `ocp/release` under the tag that releases of a version
/// have ([`release_tag`]), and its parts to `ocp/art`.
pub async fn push_release(registry: &DockerRegistry, version: &str, program: &[u8]) -> Result<(), PushError> {
    let installer = Image::new("amd64", installer(program, program.len() as u64)?)?;
    let installer = push(registry, "ocp/art", None, &installer).await?;
    let other = Image::new("amd64", vec![Layer::new()?.file("etc/x", b"x")?.finish()?])?;
    let other = push(registry, "ocp/art", None, &other).await?;
    let names = ["docker-registry", "hyperkube", "machine-config-operator", "must-gather", "rhel-coreos"];
    let components = names.iter().map(|name| ((*name).to_owned(), other.clone()));
    let release = ReleaseImage {
        version: version.to_owned(),
        architecture: "amd64".to_owned(),
        components: components.chain([("installer".to_owned(), installer)]).collect(),
        operator: Vec::new(),
    };
    push(registry, "ocp/release", Some(&release_tag(version)), &release.build()?).await?;
    Ok(())
}

/// The tag of a release: OKD is released for one architecture alone, and does not name it.
pub fn release_tag(version: &str) -> String {
    if version.contains("okd") { version.to_owned() } else { format!("{version}-x86_64") }
}

/// The layers of an image with an installer program: below it what any image has.
pub fn installer(program: impl Read, size: u64) -> io::Result<Vec<Blob>> {
    let below = Layer::new()?.file("etc/os-release", b"ID=test\n")?.symlink("bin", "usr/bin")?.finish()?;
    let top = Layer::new()?.file_from("usr/bin/openshift-install", program, size)?.finish()?;
    Ok(vec![below, top])
}
