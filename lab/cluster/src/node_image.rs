//! The release's client on a bootstrap host whose own system has none: `oc` and `kubectl` are laid over its programs.

use std::path::Path;

use anyhow::{Context, Result, bail};
use assisted_base::process::Cmd;
use clap::Subcommand;
use tracing::info;

use crate::cluster::{BOOTSTRAP, Cluster};
use crate::files;
use crate::program::{ProgramRuntime, podman};

const PROGRAMS: &str = "/usr/bin";
/// What is laid over them; gone with the running system.
const OWN: &str = "/run/lab-node-image";
/// The client's program knows its name.
const CLIENT: &str = "#!/bin/sh\nexec kubectl \"$@\"\n";

#[derive(Clone, Copy, Subcommand)]
pub enum Step {
    /// Gets the image
    Pull,
    /// Lays what is in it over the host's programs
    Overlay,
}

pub async fn run(step: Step) -> Result<()> {
    let cluster = Cluster::read(BOOTSTRAP)?;
    let mut release = ProgramRuntime::Podman.release(&cluster.release_image).await?;
    let image = release.images.remove("hyperkube").context("the release has no Kubernetes")?;
    match step {
        Step::Pull => podman(&["pull", "--quiet", &image]).await.map(drop),
        Step::Overlay => overlay(&image).await,
    }
}

async fn overlay(image: &str) -> Result<()> {
    let own = Path::new(OWN);
    if own.join("kubectl").exists() {
        return Ok(());
    }
    let mounted = podman(&["image", "mount", image]).await?;
    files::write(own.join("oc"), 0o755, CLIENT)?;
    std::os::unix::fs::symlink(Path::new(mounted.trim()).join("usr/bin/kubectl"), own.join("kubectl"))?;
    let layers = format!("lowerdir={OWN}:{PROGRAMS}");
    let mount = Cmd::new("mount").args(["-t", "overlay", "lab-node-image", "-o", &layers, PROGRAMS]);
    let output = mount.run().await?;
    if !output.success() {
        bail!("the release's client can't be laid over {PROGRAMS}: {}", output.complaint());
    }
    info!(image, "oc and kubectl are here");
    Ok(())
}
