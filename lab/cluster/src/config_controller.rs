//! The controller of the machine config operator on a bootstrap host: it renders the configuration of all pools before there is a
//! cluster.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tracing::info;

use crate::cluster::{BOOTSTRAP, Cluster, with_release};
use crate::files;
use crate::kube_api::documents;
use crate::machine_config;
use crate::os_image::API;
use crate::program::ProgramRuntime;

/// `machine-config-controller bootstrap`
#[derive(Args)]
pub struct Options {
    #[arg(long)]
    manifest_dir: PathBuf,
    #[arg(long)]
    dest_dir: PathBuf,
    #[arg(long)]
    pull_secret: PathBuf,
    #[arg(long)]
    payload_version: String,
    #[arg(long, env = "LAB_PROGRAMS", default_value = "podman")]
    programs: ProgramRuntime,
}

/// Renders the configuration of all pools, as the controller does before there is a cluster.
pub async fn render(options: &Options) -> Result<()> {
    files::read(&options.pull_secret).context("the pull secret")?;
    let cluster = with_release(Cluster::read(BOOTSTRAP)?, options.programs).await?;
    if cluster.version != options.payload_version {
        bail!("the release is {}, and not {}", cluster.version, options.payload_version);
    }
    let mut manifests = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(&options.manifest_dir)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json"))
    {
        manifests.extend(documents(&files::text(path)?).with_context(|| format!("{}", path.display()))?);
    }
    let rendered = machine_config::render(&cluster, BOOTSTRAP, &manifests)?;
    for (role, (name, spec)) in &rendered.specs {
        let pool = json!({
            "apiVersion": API, "kind": "MachineConfigPool", "metadata": {"name": role},
            "spec": {"configuration": {"name": name}},
        });
        let config =
            json!({"apiVersion": API, "kind": "MachineConfig", "metadata": {"name": name}, "spec": spec});
        let to = &options.dest_dir;
        files::write(to.join(format!("machine-pools/{role}.yaml")), 0o644, pool.to_string())?;
        files::write(to.join(format!("machine-configs/{name}.yaml")), 0o644, config.to_string())?;
        info!(role, name, image = %spec["osImageURL"], "rendered");
    }
    Ok(())
}
