//! A copy of the pools' images on each control plane host's own disk: it serves them when the bootstrap host is gone (ocl-day1 §B6,
//! step 6).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use assisted_ignition_spec::Excerpt;
use assisted_ocl::paths;
use assisted_wire::host::HostStage;
use assisted_wire::on_cluster_layering::{BuildState, HostPhase};
use serde_json::json;
use tracing::{info, warn};

use super::trust::auth_file;
use super::{Layered, LayeringFailure};
use crate::attempts::attempts;
use crate::disk::{Partitions, ROOT};
use crate::ignition::decoded;

const POINT: &str = "/mnt/root";
/// The data in the system that will boot.
const TARGET: &str = "/mnt/root/ostree/deploy/rhcos/var/lib/ocl-registry";
const DEPLOYMENTS: &str = "/mnt/root/ostree/deploy/rhcos/deploy";
/// What the bootstrap host's own registry has.
const LOCAL: &str = "/var/ocl-scratch/registry/.";
const WRITER: &str = "ocl-replica";
const SETTINGS: &str = "/run/ocl/replica.yaml";
const LIMIT: Duration = Duration::from_secs(2 * 3_600);
const STEP: Duration = Duration::from_secs(10 * 60);
const ATTEMPTS: u32 = 3;
const PAUSE: u64 = 5;

/// The registry's own image, in the settings that the node gets for its.
fn registry_image(config: &[u8]) -> Option<String> {
    let excerpt = Excerpt::read(config).ok()?;
    let settings = decoded(&excerpt.file(&format!("{}/settings", paths::NODE_REGISTRY))?.contents)?;
    let settings = String::from_utf8(settings).ok()?;
    let image = settings.lines().find_map(|line| line.strip_prefix("IMAGE="))?.trim();
    let is_word = !image.is_empty() && !image.starts_with('-') && !image.contains(char::is_whitespace);
    is_word.then(|| image.to_owned())
}

impl Layered<'_> {
    /// Copies each image that is ready, and the registry's own.
    pub(super) async fn replicate(
        &self,
        device: &Path,
        answer: &[u8],
        image: &str,
        builds_here: bool,
    ) -> Result<(), LayeringFailure> {
        let stage = HostStage::CopyingRegistryDataToDisk;
        self.service.report(stage, "").await;
        self.phase(HostPhase::Replicating, "").await;
        let disk = Partitions::of(device, self.host).await?;
        let root = disk.path(ROOT)?;
        self.host.make_dir(POINT)?;
        self.run("mount", &[root.as_os_str(), POINT.as_ref()]).await?;
        // Whoever laid the image has left it frozen; that it isn't is no fault.
        let _ = self.host.run("fsfreeze", &["--unfreeze", POINT]).await;
        let done = self.copy(answer, image, builds_here).await;
        let end = async {
            self.run("fsfreeze", &["--freeze", POINT]).await?;
            self.run("umount", &[POINT]).await
        };
        let ended = end.await;
        done?;
        ended?;
        self.service.report(stage, "100%").await;
        Ok(())
    }

    async fn copy(&self, answer: &[u8], image: &str, builds_here: bool) -> Result<(), LayeringFailure> {
        self.run("mkdir", &["-p", TARGET]).await?;
        let images = self.ready_images(image).await;
        let registry = registry_image(answer);
        if builds_here {
            self.run("cp", &["--archive", "--no-target-directory", LOCAL, TARGET]).await?;
        } else {
            let registry = registry.as_deref().ok_or_else(|| {
                LayeringFailure::Replica(format!("the node's {} names no image", paths::NODE_REGISTRY))
            })?;
            let copied = self.copy_through_registry(registry, &images).await;
            let _ = self.host.run("podman", &["rm", "--force", "--ignore", WRITER]).await;
            copied?;
        }
        if let Some(registry) = &registry {
            let to = format!("dir:{TARGET}/images/registry");
            self.run("mkdir", &["-p", &format!("{TARGET}/images/registry")]).await?;
            let from = format!("docker://{registry}");
            self.skopeo(&["--preserve-digests", "--src-authfile", auth_file(self.host), &from, &to]).await?;
        }
        let wanted: BTreeMap<&str, &str> =
            images.iter().filter_map(|image| parts(image)).map(|(_, name, digest)| (name, digest)).collect();
        // Each system that may boot knows what its registry must have: a replaced master fills its own from the others by it.
        let text = json!({ "repositories": wanted }).to_string();
        for deployment in std::fs::read_dir(self.host.path(DEPLOYMENTS)).into_iter().flatten().flatten() {
            let name = deployment.file_name().to_string_lossy().into_owned();
            if self.host.path(format!("{DEPLOYMENTS}/{name}/etc")).is_dir() {
                self.host.write(
                    &format!("{DEPLOYMENTS}/{name}{}/wanted.json", paths::NODE_REGISTRY),
                    0o644,
                    &text,
                )?;
            }
        }
        info!(images = images.len(), "the images are on this host's own disk");
        Ok(())
    }

    /// This host's own image, and those of other pools that are there already.
    async fn ready_images(&self, own: &str) -> Vec<String> {
        let mut images = vec![own.to_owned()];
        match self.images.state().await {
            Ok(state) => {
                let builds = state.into_iter().flat_map(|state| state.builds);
                let ready =
                    builds.filter(|build| build.state == BuildState::Ready).filter_map(|build| build.image);
                images.extend(ready.filter(|image| image != own));
            }
            Err(error) => warn!(%error, "images of other pools aren't known"),
        }
        images
    }

    async fn copy_through_registry(&self, registry: &str, images: &[String]) -> Result<(), LayeringFailure> {
        let port = self.state.registry_port.unwrap_or(22_626);
        // One of an earlier attempt; that there is none is no fault.
        let _ = self.host.run("podman", &["rm", "--force", "--ignore", WRITER]).await;
        let settings = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: /var/lib/registry}}}}\nhttp: {{addr: '127.0.0.1:{}'}}\n",
            port + 1
        );
        self.host.write(SETTINGS, 0o644, settings)?;
        let (data, own) =
            (format!("{TARGET}:/var/lib/registry"), format!("{SETTINGS}:/etc/registry/config.yaml:ro"));
        let run = ["run", "--detach", "--name", WRITER, "--net=host", "--security-opt=label=disable"];
        let what = ["--authfile", auth_file(self.host), "--volume", &data, "--volume", &own];
        let program =
            ["--entrypoint", "/usr/bin/distribution", registry, "serve", "/etc/registry/config.yaml"];
        self.run("podman", &[&run[..], &what, &program].concat()).await?;
        for (number, image) in images.iter().enumerate() {
            let Some((_, name, _)) = parts(image) else {
                return Err(LayeringFailure::Replica(format!("{image} is no image by digest")));
            };
            let from = format!("docker://{image}");
            let to = format!("docker://127.0.0.1:{}/{name}:{}", port + 1, self.config.cluster_id);
            let args = [
                "--all",
                "--preserve-digests",
                "--src-authfile",
                auth_file(self.host),
                "--dest-tls-verify=false",
            ];
            self.skopeo(&[&args[..], &[from.as_str(), to.as_str()]].concat()).await?;
            let percent = (number + 1) * 95 / images.len();
            self.service.report(HostStage::CopyingRegistryDataToDisk, &format!("{percent}%")).await;
        }
        Ok(())
    }

    async fn skopeo(&self, args: &[&str]) -> Result<(), LayeringFailure> {
        let args = [&["copy"], args].concat();
        let run = async || self.host.run_for(LIMIT, "skopeo", &args).await;
        let done = attempts(ATTEMPTS, PAUSE, self.config.intervals, run).await;
        done.map(drop).map_err(|error| LayeringFailure::Replica(error.to_string()))
    }

    async fn run<A: AsRef<std::ffi::OsStr>>(&self, program: &str, args: &[A]) -> Result<(), LayeringFailure> {
        let run = async || self.host.run_for(STEP, program, args).await;
        let done = attempts(ATTEMPTS, PAUSE, self.config.intervals, run).await;
        done.map(drop).map_err(|error| LayeringFailure::Replica(error.to_string()))
    }
}

/// Registry, repository and digest of an image.
fn parts(image: &str) -> Option<(&str, &str, &str)> {
    let (name, digest) = image.split_once('@')?;
    let (registry, repository) = name.split_once('/')?;
    Some((registry, repository, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_the_nodes_own() {
        let with = |settings: &str| {
            let source = format!("data:,{settings}");
            let file = json!({"path": "/etc/ocl-registry/settings", "contents": {"source": source}});
            registry_image(json!({"storage": {"files": [file]}}).to_string().as_bytes())
        };
        assert_eq!(with("IMAGE=quay.io/r@sha256:11%0APORT=22626").as_deref(), Some("quay.io/r@sha256:11"));
        assert_eq!(with("PORT=22626"), None);
        assert_eq!(with("IMAGE=-v"), None);
        assert_eq!(registry_image(b"{}"), None);
        assert_eq!(parts("a.b:1/c/d@sha256:0"), Some(("a.b:1", "c/d", "sha256:0")));
        assert_eq!(parts("a.b/c:1"), None);
    }
}
