//! The image that nodes of the lab boot in image mode. For virtual machines it is the system of the lab's image, as ostree has packed it. For
//! machines of namespaces it is what a build of such an image asks for, a shell and Ignition, and nothing that would start on a machine:
//! `ostree` in it tidies up, as a step of a build has it do.

use std::path::Path;
use std::process::Stdio;

use assisted_oci::{Blob, Image, ImageConfig, Layer};
use tokio::process::Command;

use super::{ARCHITECTURE, ReleaseError, add, libraries};

/// Where builds look for it, and what marks an image that can be booted.
const IGNITION: &str = "usr/lib/dracut/modules.d/30ignition/ignition";
pub(crate) const BOOTABLE: &str = "ostree.bootable";
const OSTREE: &[u8] = b"#!/bin/sh\nrm -rf /tmp/* /var/tmp/*\n";
const PROGRAMS: &[&str] =
    &["sh", "cat", "chmod", "cp", "echo", "head", "ln", "mkdir", "mv", "rm", "sed", "sleep", "test"];

/// The tag under which a whole system is pushed: nobody asks for it by that.
const TAG: &str = "rhel-coreos";

/// The small image, with one more layer at the bottom.
pub(super) fn make(ignition: &Path, busybox: &Path, bottom: Blob) -> Result<Image, ReleaseError> {
    let mut layer = Layer::new()?.file("usr/bin/ostree", OSTREE)?.file("tmp/.keep", b"")?;
    for library in libraries(ignition)? {
        layer = add(layer, library.trim_start_matches('/'), Path::new(&library))?;
    }
    layer = add(layer, IGNITION, ignition)?;
    layer = add(layer, "bin/busybox", busybox)?;
    for name in PROGRAMS {
        layer = layer.symlink(&format!("bin/{name}"), "busybox")?;
    }
    let labels = [(BOOTABLE.to_owned(), "true".to_owned())].into();
    let config = ImageConfig { labels, history: true, ..ImageConfig::default() };
    Ok(Image::configured(ARCHITECTURE, vec![bottom, layer.finish()?], &config)?)
}

/// Pushes the image in a folder as it is; gives its name by digest.
pub(super) async fn push_folder(
    registry: &str,
    repository: &str,
    folder: &Path,
) -> Result<String, ReleaseError> {
    let failed = |why: String| ReleaseError::NodeImage { path: folder.to_owned(), why };
    let name = format!("{registry}/{repository}");
    let run = async |words: &[&str]| {
        let mut skopeo = Command::new("skopeo");
        skopeo.arg("--insecure-policy").args(words).env("NO_PROXY", "*");
        skopeo.stdin(Stdio::null()).kill_on_drop(true);
        let done = skopeo.output().await.map_err(|error| failed(format!("skopeo: {error}")))?;
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
            false => Err(failed(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
        }
    };
    let (from, to) = (format!("oci:{}", folder.display()), format!("docker://{name}:{TAG}"));
    run(&["copy", "--quiet", "--preserve-digests", "--dest-tls-verify=false", &from, &to]).await?;
    let digest = run(&["inspect", "--tls-verify=false", "--format", "{{.Digest}}", &to]).await?;
    Ok(format!("{name}@{digest}"))
}

#[cfg(test)]
mod tests {
    use assisted_oci::push;
    use assisted_testkit::{Access, DockerRegistry};
    use serde_json::Value;

    use super::*;

    #[tokio::test]
    async fn a_folder_is_pushed_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let registry = DockerRegistry::start(dir.path(), &Access::default()).unwrap();
        let layer = Layer::new().unwrap().file("etc/os-release", b"ID=lab\n").unwrap();
        let image = Image::new(ARCHITECTURE, vec![layer.finish().unwrap()]).unwrap();
        push(&registry.name(), "some/image", Some("latest"), &image).await.unwrap();
        let folder = dir.path().join("folder");
        let missing = push_folder(&registry.name(), "ocp/art", &folder).await.unwrap_err().to_string();
        assert!(missing.contains("folder"), "{missing}");

        let from = format!("docker://{}/some/image:latest", registry.name());
        let to = format!("oci:{}", folder.display());
        let mut copy = Command::new("skopeo");
        copy.args(["--insecure-policy", "copy", "--src-tls-verify=false", &from, &to]).kill_on_drop(true);
        assert!(copy.output().await.unwrap().status.success());
        let name = push_folder(&registry.name(), "ocp/art", &folder).await.unwrap();
        let index: Value =
            serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
        let digest = index["manifests"][0]["digest"].as_str().unwrap();
        assert_eq!(name, format!("{}/ocp/art@{digest}", registry.name()));
    }
}
